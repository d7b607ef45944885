/**
 * Changes to files and folders. `syncFolder` and `makeFolder` flush folders to the disk; the other functions do not
 * flush.
 */
import {
  type Dirent,
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from "node:fs";
import { dirname } from "node:path";

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

export function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Flushes a folder. Windows has no such call and does not need it. */
export function syncFolder(path: string): void {
  if (process.platform === "win32") return;
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes a folder with its missing parents, and flushes the parents. */
export function makeFolder(path: string, mode = 0o700): void {
  const first = mkdirSync(path, { recursive: true, mode });
  if (first === undefined) return;
  for (let made = path; ; made = dirname(made)) {
    syncFolder(dirname(made));
    if (made === first || dirname(made) === made) return;
  }
}

/** Renames a complete file to its final name. Fails with EEXIST if that name is in use. */
export function publish(staged: string, target: string): void {
  try {
    linkSync(staged, target);
  } catch (error) {
    const code = codeOf(error);
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EOPNOTSUPP" && code !== "ENOSYS") throw error;
    // On a file system without hard links, the check and the rename are two steps.
    if (exists(target)) throw Object.assign(new Error(`${target} exists`), { code: "EEXIST" });
    renameSync(staged, target);
    return;
  }
  unlinkSync(staged);
}

export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

/** Removes a folder and its parents as long as they are empty. Stops before `stop`. */
export function removeEmptyFolders(path: string, stop: string): void {
  for (let folder = path; folder !== stop && folder.length > stop.length; folder = dirname(folder)) {
    try {
      rmdirSync(folder);
    } catch (error) {
      if (codeOf(error) === "ENOENT") continue;
      return;
    }
  }
}

/** Finds the plain files and symbolic links below a folder. Everything else is in `others`. Links are not followed. */
export function filesBelow(folder: string): { readonly files: readonly string[]; readonly others: readonly string[] } {
  const files: string[] = [];
  const others: string[] = [];
  const open = [folder];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const entry of entriesIn(at)) {
      const path = `${at}/${entry.name}`;
      if (entry.isDirectory()) open.push(path);
      else if (entry.isFile() || entry.isSymbolicLink()) files.push(path);
      else others.push(path);
    }
  }
  return { files: files.sort(), others };
}

function entriesIn(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return [];
    throw error;
  }
}
