import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { KnownError } from "@skein/protocol";

/**
 * Makes a folder and those above it that are missing, for their owner alone. Throws a sentence if that cannot be.
 *
 * Level by level: with `recursive` Node tries for ever where the kernel says that a folder is missing which is there, as
 * below `/proc`.
 */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let at = path; !existsSync(at); at = dirname(at)) missing.unshift(at);
  try {
    for (const folder of missing) mkdirOnce(folder);
    if (!statSync(path).isDirectory())
      throw new KnownError("invalid", `${path} is a file, and a folder is needed there.`);
  } catch (error) {
    if (error instanceof KnownError) throw error;
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    throw new KnownError("read_only", `The folder ${path} cannot be made (${code}). Name another one.`, {
      cause: error,
    });
  }
}

/** Somebody else may make it at the same time. */
function mkdirOnce(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
