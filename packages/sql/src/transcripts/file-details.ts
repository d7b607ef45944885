/**
 * The details of a transcript that must be known before it is scanned. They are stored in Skein's cache folder until
 * the file changes.
 */
import { closeSync, mkdirSync, openSync, readFileSync, readSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DataFile } from "@skein/history";

/** Identifies one version of a file. */
export interface FileStamp {
  readonly size: number;
  readonly mtimeMs: number;
  readonly inode: number;
}

/** The data in the first lines of a file. */
export interface FileHead {
  readonly cwd: string | null;
  readonly sessionId: string | null;
}

/** The rows of a file. A row is a line that is not blank. */
export interface RowCount {
  readonly rows: number;
  /** Whether the file has lines that DuckDB cannot read. */
  readonly isDamaged: boolean;
  /** Whether the file has lines that are too long for DuckDB. DuckDB reads such a file with cut texts. */
  readonly isLong: boolean;
  /** The length in bytes of the longest line that DuckDB can read. */
  readonly longest: number;
}

interface FileDetails extends FileStamp, FileHead, RowCount {}

export function isSame(known: FileStamp | undefined, { size, mtimeMs, inode }: DataFile): boolean {
  return known?.size === size && known.mtimeMs === mtimeMs && known.inode === inode;
}

/** 2 KiB are nearly always enough. The rest of the head is read only if a file starts with long lines. */
const FIRST_BYTES = 2048;
const HEAD_BYTES = 65_536;
/** One buffer for all files, because thousands of files are read one after the other. */
const shared = Buffer.allocUnsafeSlow(HEAD_BYTES);

/**
 * Returns the working directory and the session in the first lines. The name of the folder cannot be decoded to a path.
 */
export function headOf(path: string): FileHead {
  const fd = openSync(path, "r");
  try {
    const head = headIn(fd, FIRST_BYTES);
    return head.cwd !== null && head.sessionId !== null ? head : headIn(fd, HEAD_BYTES);
  } finally {
    closeSync(fd);
  }
}

function headIn(fd: number, bytes: number): FileHead {
  const text = shared.toString("utf8", 0, readSync(fd, shared, 0, bytes, 0));
  return { cwd: firstText(text, "cwd"), sessionId: firstText(text, "sessionId") };
}

function firstText(text: string, key: string): string | null {
  const value = new RegExp(`"${key}"\\s*:\\s*("(?:[^"\\\\]|\\\\.)+")`).exec(text)?.[1];
  try {
    return value === undefined ? null : (JSON.parse(value) as string);
  } catch {
    return null;
  }
}

/** The version of the cached details. Increase it when their shape changes. */
const VERSION = 4;

export interface FileCache {
  get(path: string): FileDetails | undefined;
  set(path: string, details: FileDetails): void;
  save(): void;
}

/** Opens the cache of details. Without a folder, the details are only in memory. */
export function openFileCache(folder: string | null): FileCache {
  const path = folder === null ? null : join(folder, `files-${VERSION}.json`);
  const known = new Map<string, FileDetails>(path === null ? [] : read(path));
  return {
    get: (file) => known.get(file),
    set: (file, details) => void known.set(file, details),
    save() {
      if (path === null || folder === null) return;
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        const written = `${path}.${process.pid}`;
        writeFileSync(written, JSON.stringify([...known]), { mode: 0o600 });
        renameSync(written, path);
      } catch {
        // Without the cache, the next process reads the files again.
      }
    },
  };
}

function read(path: string): [string, FileDetails][] {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as [string, FileDetails][];
  } catch {
    return [];
  }
}
