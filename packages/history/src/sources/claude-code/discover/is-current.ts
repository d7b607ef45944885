import { lstatSync, statSync } from "node:fs";
import type { LibraryConfig } from "../../../config.ts";
import type { Discovered } from "../../../model/data-file.ts";
import { existingRoots } from "../../discover.ts";

/** If a folder was read within this time after its change, a later change may have the same time. */
const YOUNG_MS = 2000;

/**
 * Whether discovering again would find the same files. This check takes half the time of discovering: a folder with the
 * same change time (ctime) has the same entries. No program can set the change time, and a change of permissions updates
 * it.
 */
export function isCurrent(found: Discovered, config: LibraryConfig): boolean {
  const { roots, files, skipped, folders, atMs } = found;
  try {
    return (
      folders.every(({ path, changedMs }) => changedMs < atMs - YOUNG_MS && statSync(path).ctimeMs === changedMs) &&
      files.every((file) => {
        const { size, mtimeMs, ino } = lstatSync(file.path);
        return size === file.size && mtimeMs === file.mtimeMs && ino === file.inode;
      }) &&
      // A file that could not be read may be readable now.
      skipped.every(({ reason }) => reason !== "unreadable") &&
      String(existingRoots(config)) === String(roots)
    );
  } catch {
    return false;
  }
}
