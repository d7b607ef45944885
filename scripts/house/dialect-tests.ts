/** Finds dialects (HTTP protocols that Skein implements) without a test. */
import { type Finding, type SourceTree } from "./source-tree.ts";

/** A dialect is a folder in `src/dialects`. Its test in `test/dialects` is a file or a folder with the same name. */
export function dialectTests({ files }: SourceTree): readonly Finding[] {
  const paths = [...files.keys()];
  const dialects = new Map<string, string>();
  for (const path of paths) {
    const [, name] = /^packages\/[^/]+\/src\/dialects\/([^/]+)\//u.exec(path) ?? [];
    if (name !== undefined && !dialects.has(name)) dialects.set(name, path);
  }
  return [...dialects].flatMap(([name, file]) => {
    const test = new RegExp(`^packages/[^/]+/test/dialects/${name}(?:/.*)?\\.test\\.ts$`, "u");
    if (paths.some((path) => test.test(path))) return [];
    const home = testHome(file.split("/").slice(0, 2).join("/"));
    const sentence = `is of the dialect "${name}", which has no test. Write its test in ${home}/test/dialects/${name}.test.ts, with that protocol's own published client.`;
    return [{ file, line: 1, sentence }];
  });
}

/** The package `protocol` cannot start a server, so the tests of its dialects are in `server`. */
function testHome(folder: string): string {
  return folder === "packages/protocol" ? "packages/server" : folder;
}
