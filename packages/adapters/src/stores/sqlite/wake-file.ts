import { type FSWatcher, chmodSync, closeSync, openSync, watch, writeSync } from "node:fs";

/**
 * A file that tells the other processes of a sqlite database about commits. A byte is written after commits, and the
 * other processes watch the file.
 */
export interface WakeFile {
  touch(): void;
  close(): void;
}

/** Commits within this time are announced together. */
const BATCH_MS = 5;

/**
 * Opens the wake file. The `-wal` file cannot be watched instead: it changes before a commit is visible, and its last
 * change is never announced.
 *
 * If the wake file cannot be watched (too many watches, an unusual file system), this is not an error, because the
 * store looks for changes each second anyway.
 */
export function openWakeFile(path: string, woken: () => void): WakeFile {
  const file = openSync(path, "a+", 0o600);
  chmodSync(path, 0o600);
  const handle = openSync(path, "r+");
  const byte = new Uint8Array([1]);
  const watcher = watched(path, woken);
  let touchedAt = -BATCH_MS;
  let waiting: NodeJS.Timeout | undefined;

  function write(): void {
    clearTimeout(waiting);
    waiting = undefined;
    touchedAt = performance.now();
    try {
      writeSync(handle, byte, 0, 1, 0);
    } catch {
      // The write may fail, for example on a full disk. The commit has succeeded, and other processes find it by their
      // sweep.
    }
  }

  return {
    touch() {
      if (waiting) return;
      const early = touchedAt + BATCH_MS - performance.now();
      if (early <= 0) write();
      else waiting = setTimeout(write, early).unref();
    },
    close() {
      if (waiting) write();
      watcher?.close();
      closeSync(handle);
      closeSync(file);
    },
  };
}

function watched(path: string, woken: () => void): FSWatcher | undefined {
  try {
    return watch(path, { persistent: false }, woken).on("error", () => undefined);
  } catch {
    return undefined;
  }
}
