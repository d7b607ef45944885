import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { KnownError } from "@skein/protocol";

/** Imports a file of the user. If that fails, the error names the file, and the line if the stack of the error has it. */
export async function importFile(file: string): Promise<object> {
  const path = resolve(file);
  try {
    return (await import(pathToFileURL(path).href)) as object;
  } catch (error) {
    if (!(error instanceof Error)) throw new KnownError("invalid", `${file} could not be loaded: ${String(error)}`);
    const line = lineIn(error, path);
    const message = `${file}${line} could not be loaded: ${error.message}${line === "" ? elsewhere(error) : ""}`;
    throw new KnownError("invalid", message, { cause: error });
  }
}

/** The line of an error in a file, as `:LINE`. The stack of a syntax error begins with the file's path; other stacks have its URL. */
function lineIn({ stack = "" }: Error, path: string): string {
  const url = pathToFileURL(path).href;
  const place = stack.startsWith(`${path}:`) ? path : url;
  const at = stack.indexOf(`${place}:`);
  return at < 0 ? "" : (/^:\d+/.exec(stack.slice(at + place.length))?.[0] ?? "");
}

/** The place of a syntax error in another file, which the file imports. */
function elsewhere({ stack = "" }: Error): string {
  const [, place] = /^(?:file:\/\/)?(\/[^\n]*:\d+)\n/.exec(stack) ?? [];
  return place === undefined ? "" : ` (${place})`;
}
