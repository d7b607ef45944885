/** Finds code that constructs facts (events for a session's log) of a run but is not in `core/src/run`. */
import type { Node } from "oxc-parser";
import { type Finding, type SourceFile, type SourceTree, isFunction, productFiles, walk } from "./source-tree.ts";

/** The only place where facts of a run are constructed. */
const MODULE = "packages/core/src/run/";

export function factsOutside(tree: SourceTree): readonly Finding[] {
  const facts = driversFacts(tree);
  return productFiles(tree)
    .filter(({ path }) => !path.startsWith(MODULE) && !path.startsWith("packages/protocol/"))
    .flatMap((file) =>
      constructed(file, facts).map(({ line, type }) => ({
        file: file.path,
        line,
        sentence: `constructs the fact "${type}" of a run. Facts of a run are constructed only in ${MODULE}: call a function there, or add one.`,
      })),
    );
}

/** Returns the facts that only the worker of a session's run may append: all facts that are not in `FROM_OUTSIDE`. */
function driversFacts({ files }: SourceTree): ReadonlySet<string> {
  const all = [...files.values()]
    .filter(({ path }) => path.startsWith("packages/protocol/src/facts/"))
    .flatMap(({ text }) => [...text.matchAll(/^ {2}"([a-z_]+\.[a-z_]+)": z\b/gmu)].map(({ 1: name = "" }) => name));
  const text = files.get("packages/protocol/src/event.ts")?.text ?? "";
  const [, fromOutside = ""] = /FROM_OUTSIDE[^[]*\(\[([^\]]*)\]/u.exec(text) ?? [];
  if (all.length === 0 || fromOutside === "")
    throw new Error(
      "The list of facts is no longer in packages/protocol/src/facts and FROM_OUTSIDE of event.ts. Change scripts/house/facts-outside.ts, which reads it there.",
    );
  return new Set(all.filter((name) => !fromOutside.includes(`"${name}"`)));
}

function constructed(file: SourceFile, facts: ReadonlySet<string>): readonly { line: number; type: string }[] {
  const found: { line: number; type: string }[] = [];
  walk(file.program, (node, around) => {
    if (node.type !== "ObjectExpression") return;
    for (const property of node.properties) {
      if (property.type !== "Property" || keyOf(property) !== "event_type") continue;
      const type = typesIn(property.value, around).find((name) => facts.has(name));
      if (type !== undefined) found.push({ line: file.lineAt(property.start), type });
    }
  });
  return found;
}

function keyOf({ key }: Extract<Node, { type: "Property" }>): string | undefined {
  if (key.type === "Identifier") return key.name;
  return key.type === "Literal" ? String(key.value) : undefined;
}

/**
 * Returns the texts that an expression can have: its literals or, for a parameter, the literals of the parameter's
 * type.
 */
function typesIn(value: Node, around: readonly Node[]): readonly string[] {
  const parameters = around.flatMap((node) => (isFunction(node) ? node.params : []));
  const source = value.type === "Identifier" ? parameters.filter((node) => isNamed(node, value.name)) : [value];
  const strings: string[] = [];
  for (const node of source)
    walk(node, (inner) => {
      if (inner.type === "Literal" && typeof inner.value === "string") strings.push(inner.value);
    });
  return strings;
}

function isNamed(node: Node, name: string): boolean {
  return node.type === "Identifier" && node.name === name;
}
