/** The imports of a file. */
import type { SourceFile } from "./source-tree.ts";

export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** The imported names. Undefined if all names may be imported (`import *`, `export *`, `import()`). */
  readonly names: readonly string[] | undefined;
  /** True for `import type`, which loads nothing at run time. `import { type … }` loads the module. */
  readonly isType: boolean;
  /** True for `import()`, which loads the module only when the code reaches it. */
  readonly isDynamic: boolean;
}

export function importsOf({ module, text, lineAt }: SourceFile): readonly Import[] {
  const found: Import[] = [];
  for (const { moduleRequest, entries, start } of module.staticImports) {
    const isAll = text.slice(start, moduleRequest.start).includes("*");
    found.push({
      specifier: moduleRequest.value,
      line: lineAt(start),
      names: isAll ? undefined : entries.flatMap(({ importName }) => importName.name ?? []),
      isType: isTypeStatement(text, start),
      isDynamic: false,
    });
  }
  for (const { entries, start } of module.staticExports)
    for (const { moduleRequest, importName } of entries)
      if (moduleRequest)
        found.push({
          specifier: moduleRequest.value,
          line: lineAt(start),
          names: importName.name === null ? undefined : [importName.name],
          isType: isTypeStatement(text, start),
          isDynamic: false,
        });
  for (const { moduleRequest, start } of module.dynamicImports) {
    const [, specifier] = /^["'`]([^"'`$]+)["'`]$/u.exec(text.slice(moduleRequest.start, moduleRequest.end)) ?? [];
    if (specifier !== undefined)
      found.push({ specifier, line: lineAt(start), names: taken(text, start), isType: false, isDynamic: true });
  }
  return [...found, ...importTypes(text, lineAt)];
}

/** The names in `const { name, name: other } = await import(…)`. */
function taken(text: string, start: number): readonly string[] | undefined {
  const [, names] = /\{([^{}]*)\}\s*=\s*await\s+$/u.exec(text.slice(Math.max(0, start - 500), start)) ?? [];
  return names?.split(",").flatMap((name) => /^\s*(\w+)/u.exec(name)?.[1] ?? []);
}

function isTypeStatement(text: string, start: number): boolean {
  return /^(?:import|export)\s+type\b/u.test(text.slice(start, start + 20));
}

/** Finds types such as `import("…").Name`, which are missing in the parser's list of imports. */
function importTypes(text: string, lineAt: SourceFile["lineAt"]): readonly Import[] {
  return [...text.matchAll(/\bimport\("([^"]+)"\)\.(\w+)/gu)].map(({ 1: specifier = "", 2: name = "", index }) => ({
    specifier,
    line: lineAt(index),
    names: [name],
    isType: true,
    isDynamic: false,
  }));
}
