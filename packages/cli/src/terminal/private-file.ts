import { closeSync, fsyncSync, linkSync, mkdtempSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { CommandError, EXIT } from "./exit-codes.ts";

/** A file that only its owner can read, written piece by piece. The file appears only when it is complete. */
export interface PrivateFile {
  write(content: string | Uint8Array): void;
  /** Moves the file to its place. It replaces an existing file only with `force`. */
  finish(): void;
  /** Removes what was written, if the file is not finished. */
  discard(): void;
}

export function openPrivateFile(path: string, { force }: { readonly force: boolean }): PrivateFile {
  const folder = mkdtempSync(join(dirname(resolve(path)), ".skein-"));
  const made = join(folder, basename(path));
  const handle = openSync(made, "wx", 0o600);
  let isOpen = true;
  const close = (): void => {
    if (isOpen) closeSync(handle);
    isOpen = false;
  };
  const discard = (): void => {
    close();
    rmSync(folder, { recursive: true, force: true });
  };
  return {
    write: (content) => writeFileSync(handle, content),
    finish() {
      try {
        fsyncSync(handle);
        close();
        if (force) renameSync(made, path);
        else linkSync(made, path);
      } catch (error) {
        throw isThere(error) ? alreadyThere(path) : error;
      } finally {
        discard();
      }
    },
    discard,
  };
}

/** Writes the whole content into a file that only its owner can read. */
export function createPrivateFile(path: string, content: string | Uint8Array, force: boolean): void {
  const file = openPrivateFile(path, { force });
  try {
    file.write(content);
    file.finish();
  } finally {
    file.discard();
  }
}

/** Returns the error for a file that must not be overwritten. */
export function alreadyThere(path: string): CommandError {
  return new CommandError(EXIT.io, `${path} exists already. --force replaces it.`);
}

function isThere(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EEXIST";
}
