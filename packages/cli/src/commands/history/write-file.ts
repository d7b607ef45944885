import { existingRoots, type LibraryConfig } from "@skein/history";
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdtempSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { CommandError, EXIT, UsageError } from "../../terminal/exit-codes.ts";

/** Writes a file that only its owner can read: whole or not at all, and never over another one unless told to. */
export function createPrivateFile(path: string, content: string, force: boolean): void {
  const folder = mkdtempSync(join(dirname(resolve(path)), ".skein-"));
  try {
    const made = join(folder, basename(path));
    const fd = openSync(made, "wx", 0o600);
    try {
      writeFileSync(fd, content);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    if (force) renameSync(made, path);
    else linkSync(made, path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") {
      throw new CommandError(EXIT.io, `${path} is there already; --force replaces it.`);
    }
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Output must not land among Claude Code's files, where it would be taken for one of them. */
export function refuseDataFolder(path: string, library: LibraryConfig): void {
  const target = realOf(resolve(path));
  for (const root of existingRoots(library)) {
    if (target === root || target.startsWith(root + sep)) {
      throw new UsageError(`${path} is inside of Claude Code's data directory, which is only read here.`);
    }
  }
}

/** The place that a path leads to, though its end may not exist yet. */
function realOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const parent = dirname(path);
  return parent === path ? path : join(realOf(parent), basename(path));
}
