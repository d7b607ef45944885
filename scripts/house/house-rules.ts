/** The layout rules that `npm run check` enforces, and the figures that `npm run house` prints. */
import { importCycles } from "./cycles.ts";
import { dialectTests } from "./dialect-tests.ts";
import { factsOutside } from "./facts-outside.ts";
import { linesOf, longFiles, longFunctions } from "./long-code.ts";
import { optionalParts } from "./optional-parts.ts";
import { RUN_RULES, placesOf, ruleCopies } from "./rule-copies.ts";
import { type Finding, type SourceTree, productFiles } from "./source-tree.ts";
import { unusedExports } from "./unused-exports.ts";

/** The rules, by the names that still-open.json uses. */
export const HOUSE_RULES = {
  "facts of a run outside their module": factsOutside,
  "rules of a run outside their module": ruleCopies,
  "unused exports of core": (tree) => unusedExports(tree, "@skein/core"),
  "unused exports of history/format": (tree) => unusedExports(tree, "@skein/history/format"),
  "import cycles": importCycles,
  "long functions": longFunctions,
  "long files": longFiles,
  "dialects without a test": dialectTests,
  "optional parts that are loaded immediately": optionalParts,
} satisfies Readonly<Record<string, (tree: SourceTree) => readonly Finding[]>>;

export type HouseRule = keyof typeof HOUSE_RULES;

export interface Measure {
  readonly what: string;
  /** The largest allowed value; null if the figure is only for information. */
  readonly goal: number | null;
  readonly unit?: string;
  count(tree: SourceTree): number;
}

export const MEASURES: readonly Measure[] = [
  {
    what: "files that construct facts of a run but are not in core/src/run",
    goal: 0,
    count: (tree) => new Set(factsOutside(tree).map(({ file }) => file)).size,
  },
  ...RUN_RULES.map((rule) => ({
    what: rule.name === "watchers of a run" ? rule.name : `copies: ${rule.name}`,
    goal: 1,
    count: (tree: SourceTree) => placesOf(rule, tree).length,
  })),
  counted("exports of core that no other package imports", "unused exports of core"),
  counted("exports of history/format that no other package imports", "unused exports of history/format"),
  counted("import cycles between files, type-only ones included", "import cycles"),
  counted("functions with more than 80 lines of their own", "long functions"),
  counted("files over 350 lines in src, without testing/", "long files"),
  counted("dialects without a test", "dialects without a test"),
  counted("optional parts that are loaded immediately", "optional parts that are loaded immediately"),
  {
    what: "lines of src, without testing/",
    goal: null,
    count: (tree) => productFiles(tree).reduce((sum, { text }) => sum + linesOf(text), 0),
  },
];

function counted(what: string, rule: HouseRule): Measure {
  return { what, goal: 0, count: (tree) => HOUSE_RULES[rule](tree).length };
}
