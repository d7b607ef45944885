/** Finds quick tests, which start no process, no server and no DuckDB. */
import { importsOf } from "./house/imports.ts";
import { type SourceTree, readSourceTree } from "./house/source-tree.ts";

/**
 * Modules that start processes or servers. DuckDB is in the list because its queries keep every core busy for seconds.
 */
const STARTS =
  /^(?:node:(?:child_process|cluster|dgram|http|http2|https|net|tls|worker_threads)|pg|ws|fastify|eventsource|s3rver|@redis\/client|@duckdb\/node-api)$/u;

/** Returns the test files that do not import a module of `STARTS`, not even through other files. */
export function quickTests(root: string): readonly string[] {
  const tree = readSourceTree(root);
  return [...tree.files.keys()].filter((path) => path.endsWith(".test.ts") && isQuick(tree, path));
}

function isQuick(tree: SourceTree, test: string): boolean {
  const reached = new Set([test]);
  for (const path of reached) {
    const file = tree.files.get(path);
    if (!file) continue;
    for (const { specifier, names, isType } of importsOf(file)) {
      if (isType) continue;
      // A test that calls `inject` uses a server that is started once for all tests.
      if (STARTS.test(specifier) || (specifier === "vitest" && names?.includes("inject"))) return false;
      const target = tree.resolve(path, specifier);
      if (target !== undefined) reached.add(target);
    }
  }
  return true;
}
