/**
 * What must be known of a transcript before it is scanned, kept in Skein's cache folder: looked at again only when the
 * file has changed.
 */
import { closeSync, mkdirSync, openSync, readFileSync, readSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DataFile } from "@skein/history";

/** A file as it was when something was learned about it. */
export interface FileStamp {
  readonly size: number;
  readonly mtimeMs: number;
  readonly inode: number;
}

export interface FileHead {
  readonly cwd: string | null;
  readonly sessionId: string | null;
}

/** Rows as DuckDB sees them: lines that are not blank. */
export interface RowCount {
  readonly rows: number;
  readonly isDamaged: boolean;
  /** It has lines that are too long for DuckDB and is read with their texts cut. */
  readonly isLong: boolean;
  /** Bytes of its longest line that can be read. */
  readonly longest: number;
}

interface FileFacts extends FileStamp, FileHead, RowCount {}

export function isSame(known: FileStamp | undefined, { size, mtimeMs, inode }: DataFile): boolean {
  return known?.size === size && known.mtimeMs === mtimeMs && known.inode === inode;
}

const HEAD_BYTES = 65_536;

/** The working directory and the session that the first lines name; the folder's name cannot be decoded. */
export function headOf(path: string): FileHead {
  const fd = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(HEAD_BYTES);
    const text = bytes.toString("utf8", 0, readSync(fd, bytes, 0, HEAD_BYTES, 0));
    return { cwd: firstText(text, "cwd"), sessionId: firstText(text, "sessionId") };
  } finally {
    closeSync(fd);
  }
}

function firstText(text: string, key: string): string | null {
  const value = new RegExp(`"${key}"\\s*:\\s*("(?:[^"\\\\]|\\\\.)+")`).exec(text)?.[1];
  try {
    return value === undefined ? null : (JSON.parse(value) as string);
  } catch {
    return null;
  }
}

/** Raised when what is kept of a file changes. */
const VERSION = 4;

export interface FactsCache {
  get(path: string): FileFacts | undefined;
  set(path: string, facts: FileFacts): void;
  save(): void;
}

/** Without a folder it lives as long as the process. */
export function openFactsCache(folder: string | null): FactsCache {
  const path = folder === null ? null : join(folder, `files-${VERSION}.json`);
  const known = new Map<string, FileFacts>(path === null ? [] : read(path));
  return {
    get: (file) => known.get(file),
    set: (file, facts) => void known.set(file, facts),
    save() {
      if (path === null || folder === null) return;
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        const draft = `${path}.${process.pid}`;
        writeFileSync(draft, JSON.stringify([...known]), { mode: 0o600 });
        renameSync(draft, path);
      } catch {
        // A cache that cannot be written only costs time.
      }
    },
  };
}

function read(path: string): [string, FileFacts][] {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as [string, FileFacts][];
  } catch {
    return [];
  }
}
