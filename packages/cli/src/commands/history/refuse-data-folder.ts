import { existingRoots, type LibraryConfig } from "@skein/history";
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { UsageError } from "../../terminal/exit-codes.ts";

/** Rejects an output path in Claude Code's data directory. Claude Code could read the output as a session. */
export function refuseDataFolder(path: string, library: LibraryConfig): void {
  const target = realOf(resolve(path));
  for (const root of existingRoots(library)) {
    if (target === root || target.startsWith(root + sep)) {
      throw new UsageError(`${path} is in Claude Code's data directory, which this command only reads.`);
    }
  }
}

/** Returns the real path of a file or folder. The last parts of the path may not exist yet. */
function realOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const parent = dirname(path);
  return parent === path ? path : join(realOf(parent), basename(path));
}
