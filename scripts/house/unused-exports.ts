/** Finds names that a package exports although no other package imports them. */
import { importsOf } from "./imports.ts";
import { type Finding, type SourceTree, packageFolder } from "./source-tree.ts";

/** Finds the unused exports of one entry, for example of `@skein/core`. */
export function unusedExports(tree: SourceTree, entry: string): readonly Finding[] {
  const home = tree.packages.find(({ entries }) => entries.has(entry));
  const index = home?.entries.get(entry);
  if (!home || index === undefined) return [];
  const used = namesImported(tree, entry, home.folder);
  if (used === "all") return [];
  return exportsOf(tree, index)
    .filter(({ name }) => !used.has(name))
    .map(({ name, file, line }) => ({
      file,
      line,
      sentence: `exports "${name}", which no other package imports from ${entry}. Remove it from ${index}.`,
    }));
}

function namesImported(tree: SourceTree, entry: string, home: string): ReadonlySet<string> | "all" {
  const used = new Set<string>();
  for (const file of tree.files.values()) {
    if (packageFolder(file.path) === home) continue;
    for (const { specifier, names } of importsOf(file)) {
      if (specifier !== entry) continue;
      // A test may import everything only to compare the names with a list. This does not count as use.
      if (!names && !file.path.includes("/test/")) return "all";
      for (const name of names ?? []) used.add(name);
    }
  }
  return used;
}

interface Exported {
  readonly name: string;
  readonly file: string;
  readonly line: number;
}

/**
 * Returns every name that a file exports, even through `export *`. A type and a value with the same name count once.
 */
function exportsOf(tree: SourceTree, path: string, seen = new Set<string>()): readonly Exported[] {
  const file = tree.files.get(path);
  if (!file || seen.has(path)) return [];
  seen.add(path);
  const found = new Map<string, Exported>();
  for (const { entries } of file.module.staticExports)
    for (const { exportName, moduleRequest, start } of entries) {
      const line = file.lineAt(start);
      if (exportName.name !== null) found.set(exportName.name, { name: exportName.name, file: path, line });
      else if (moduleRequest)
        for (const inner of exportsOf(tree, tree.resolve(path, moduleRequest.value) ?? "", seen))
          if (!found.has(inner.name)) found.set(inner.name, inner);
    }
  return [...found.values()];
}
