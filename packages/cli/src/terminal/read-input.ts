import { readFile, stat } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { UsageError } from "./exit-codes.ts";

/** Returns the content of a file. The name `-` means standard input. */
export async function readInput(file: string): Promise<string> {
  if (file === "-") return text(process.stdin);
  if ((await stat(file)).isDirectory()) throw new UsageError(`${file} is a folder. Name a file.`);
  return readFile(file, "utf8");
}
