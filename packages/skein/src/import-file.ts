import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { KnownError } from "@skein/protocol";

/** The codes of Node's errors for a file that is neither TypeScript nor JavaScript. */
const NOT_A_PROGRAM: ReadonlySet<string> = new Set(["ERR_IMPORT_ATTRIBUTE_MISSING", "ERR_UNKNOWN_FILE_EXTENSION"]);

/** Imports a file of the user. If this fails, the error has the path of the file and, if known, the line. */
export async function importFile(file: string): Promise<object> {
  const path = resolve(file);
  try {
    return (await import(pathToFileURL(path).href)) as object;
  } catch (error) {
    if (!(error instanceof Error)) throw new KnownError("invalid", `${file} could not be loaded: ${String(error)}`);
    const { code } = error as NodeJS.ErrnoException;
    if (code !== undefined && NOT_A_PROGRAM.has(code) && error.message.includes(path))
      throw new KnownError("invalid", `${file} is not a program. Expected a file of TypeScript or JavaScript.`, {
        cause: error,
      });
    const line = lineIn(error, path);
    const message = `${file}${line} could not be loaded: ${error.message}${line === "" ? elsewhere(error) : ""}${whatToInstall(error, path)}`;
    throw new KnownError("invalid", message, { cause: error });
  }
}

/**
 * Returns the line of an error in a file, as `:LINE`. The stack of a syntax error begins with the file's path. Other
 * stacks have the file's URL.
 */
function lineIn({ stack = "" }: Error, path: string): string {
  const url = pathToFileURL(path).href;
  const place = stack.startsWith(`${path}:`) ? path : url;
  const at = stack.indexOf(`${place}:`);
  return at < 0 ? "" : (/^:\d+/.exec(stack.slice(at + place.length))?.[0] ?? "");
}

/** Returns the path and the line of a syntax error in an imported file. */
function elsewhere({ stack = "" }: Error): string {
  const [, place] = /^(?:file:\/\/)?(\/[^\n]*:\d+)\n/.exec(stack) ?? [];
  return place === undefined ? "" : ` (${place})`;
}

/**
 * Says how to install Skein if the project of the file does not have it. A command in PATH does not install it there.
 */
function whatToInstall(error: Error, path: string): string {
  if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") return "";
  if (!/^Cannot find package '(?:skein|@skein\/[a-z]+)'/.test(error.message)) return "";
  return `. Install Skein in this project. In a clone of Skein: npm run pack:local -- ${dirname(path)}`;
}
