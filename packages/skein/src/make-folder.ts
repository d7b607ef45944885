import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { KnownError } from "@skein/protocol";

/**
 * Makes a folder and its missing parents. Only their owner can read them. If this fails, throws an error that tells the
 * user what to do.
 *
 * Makes the folders one by one, because Node's `mkdir` with `recursive` never returns below `/proc`. The kernel reports
 * existing folders there as missing.
 */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let at = path; !existsSync(at); at = dirname(at)) missing.unshift(at);
  try {
    for (const folder of missing) mkdirOnce(folder);
    if (!statSync(path).isDirectory()) throw new KnownError("invalid", `${path} is a file. Expected a folder.`);
  } catch (error) {
    if (error instanceof KnownError) throw error;
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    throw new KnownError("read_only", `The folder ${path} cannot be created (${code}). Choose another folder.`, {
      cause: error,
    });
  }
}

/** Makes one folder. Another process may create it at the same time. */
function mkdirOnce(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
