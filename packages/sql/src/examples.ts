/** Reads the example questions. Each is a file in `examples/` with the question in its first line. */
import { readFileSync, readdirSync } from "node:fs";
import { basename } from "node:path";

export interface Example {
  readonly name: string;
  readonly question: string;
  readonly sql: string;
}

const FOLDER = new URL("../examples/", import.meta.url);

export function examples(): readonly Example[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(".sql"))
    .toSorted()
    .map(exampleOf);
}

function exampleOf(file: string): Example {
  const [first = "", ...rest] = readFileSync(new URL(file, FOLDER), "utf8").split("\n");
  return { name: basename(file, ".sql"), question: first.replace(/^-- /, ""), sql: rest.join("\n").trim() };
}
