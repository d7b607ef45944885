import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";

/** The size of a disk block in `stat`, in bytes. */
const BLOCK_BYTES = 512;

/**
 * The bytes on disk of everything in a folder. Counting stops above `most`. Links are not followed, and files that are
 * deleted in the meantime count as 0.
 */
export async function folderBytesAbove(folder: string, most: number, signal: AbortSignal): Promise<number> {
  let bytes = 0;
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    try {
      for await (const entry of await opendir(next)) {
        const path = join(next, entry.name);
        if (entry.isDirectory()) folders.push(path);
        bytes += await lstat(path).then(
          ({ blocks }) => blocks * BLOCK_BYTES,
          () => 0,
        );
        if (bytes > most || signal.aborted) return bytes;
      }
    } catch {
      // The file was deleted, or this server may not read it.
    }
  }
  return bytes;
}
