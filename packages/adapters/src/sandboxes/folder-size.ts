import type { Stats } from "node:fs";
import { lstat, opendir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** The size of a disk block in `stat`, in bytes. */
const BLOCK_BYTES = 512;
/**
 * The size that is counted for an empty file, in bytes: its name and its entry in the table of files use disk space.
 */
const FILE_BYTES = 4096;

/**
 * The bytes on disk of everything in a folder. Counting stops above `most`. Links are not followed, and files that are
 * deleted in the meantime count as 0. Infinity if a path is too long for this system: programs can make such paths step
 * by step, and what is below them cannot be measured.
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

/** 0 for a file that was deleted or that this server may not read; Infinity for a path that is too long. */
function unmeasured(error: unknown): number {
  return (error as NodeJS.ErrnoException).code === "ENAMETOOLONG" ? Infinity : 0;
}

/** The bytes on disk of files that these processes have open and that are in no folder any more. */
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
