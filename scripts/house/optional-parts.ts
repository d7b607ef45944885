/** Finds optional packages that are loaded before they are needed. */
import { importsOf } from "./imports.ts";
import { type Finding, type Package, type SourceTree, packageFolder } from "./source-tree.ts";

/**
 * Finds optional packages that a package loads as soon as it is imported or its command is started.
 *
 * An entry that is named after its adapter (`@skein/adapters/stores/postgres`) may import the adapted package, because
 * its users have chosen it. The main entry and the commands may load optional packages only by `import()`.
 */
export function optionalParts(tree: SourceTree): readonly Finding[] {
  const found = new Map<string, Finding>();
  for (const home of tree.packages)
    for (const start of startsOf(home))
      for (const finding of reachedFrom(tree, start)) found.set(`${finding.file}:${finding.line}`, finding);
  return [...found.values()];
}

function startsOf({ name, entries, commands }: Package): readonly string[] {
  const main = entries.get(name);
  return main === undefined ? commands : [main, ...commands];
}

function reachedFrom(tree: SourceTree, start: string): readonly Finding[] {
  const found: Finding[] = [];
  const seen = new Set([start]);
  for (const path of seen) {
    const file = tree.files.get(path);
    const home = tree.packages.find(({ folder }) => folder === packageFolder(path));
    if (!file || !home) continue;
    for (const { specifier, line, isType, isDynamic } of importsOf(file)) {
      if (isType || isDynamic) continue;
      const part = packageOf(specifier);
      if (home.optional.has(part)) found.push({ file: path, line, sentence: sentence(part, home, start) });
      else {
        const target = tree.resolve(path, specifier);
        if (target !== undefined) seen.add(target);
      }
    }
  }
  return found;
}

function sentence(part: string, home: Package, start: string): string {
  return `imports ${part}, which is optional in ${home.folder}/package.json, and ${start} loads this file immediately. Load it with import() where it is needed, and say in one sentence what to install if it is missing.`;
}

/** Returns `@scope/name` for `@scope/name/sub`. */
function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}
