import type { Stats } from "node:fs";
import { lstat, opendir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** The size in bytes of the blocks that `stat` counts. */
const BLOCK_BYTES = 512;
/**
 * The smallest size that is counted for a file, in bytes. Even an empty file uses disk space for its name and its entry
 * in the file system.
 */
const FILE_BYTES = 4096;

/**
 * Returns the disk usage of a folder with its content, in bytes. Stops counting above `most`. Does not follow links.
 * Deleted files count as 0.
 *
 * Returns Infinity if a path is too long for this system. Programs can make such paths step by step, and their content
 * cannot be measured.
 */
export async function folderBytesAbove(folder: string, most: number, signal: AbortSignal): Promise<number> {
  let bytes = 0;
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    try {
      for await (const entry of await opendir(next)) {
        const path = join(next, entry.name);
        if (entry.isDirectory()) folders.push(path);
        bytes += await lstat(path).then(({ blocks }) => Math.max(blocks * BLOCK_BYTES, FILE_BYTES), unmeasured);
        if (bytes > most || signal.aborted) return bytes;
      }
    } catch (error) {
      bytes += unmeasured(error);
    }
  }
  return bytes;
}

/**
 * Returns 0 for a file that was deleted or that this server may not read. Returns Infinity for a path that is too long.
 */
function unmeasured(error: unknown): number {
  return (error as NodeJS.ErrnoException).code === "ENAMETOOLONG" ? Infinity : 0;
}

/** Returns the disk usage of deleted files that these processes still have open. */
export async function deletedBytes(processes: readonly number[]): Promise<number> {
  const files = new Map<string, number>();
  for (const pid of processes) {
    const folder = `/proc/${pid}/fd`;
    for (const number of await readdir(folder).catch(() => []))
      for (const found of await stat(join(folder, number)).then(deletedFile, () => []))
        files.set(`${found.dev}:${found.ino}`, found.blocks * BLOCK_BYTES);
  }
  return [...files.values()].reduce((sum, bytes) => sum + bytes, 0);
}

const deletedFile = (found: Stats): readonly Stats[] => (found.isFile() && found.nlink === 0 ? [found] : []);
