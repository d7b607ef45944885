import { lstatSync, statSync } from "node:fs";
import type { LibraryConfig } from "../../../config.ts";
import type { Discovered } from "../../../model/data-file.ts";
import { existingRoots } from "./discover.ts";

/** A folder that changed so shortly before it was read may change again without its time telling it. */
const YOUNG_MS = 2000;

/**
 * Whether to discover again would find the same, at half the price: a folder whose time has not changed has the entries that
 * it had. Its time is the one that nobody can set and that rights change too.
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
      // What could not be read may be readable now.
      skipped.every(({ reason }) => reason !== "unreadable") &&
      String(existingRoots(config)) === String(roots)
    );
  } catch {
    return false;
  }
}
