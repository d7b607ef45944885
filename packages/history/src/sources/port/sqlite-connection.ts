/**
 * Opens a database of a coding agent without writing files beside the database. Even for a reader, SQLite creates the
 * files of a write-ahead log (`-wal`, `-shm`) and does not remove them. If such files belong to another user, the agent
 * cannot start.
 */
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { NotAFileError } from "../../scan/read-file.ts";

export interface Connection {
  readonly database: DatabaseSync;
  /** Returns false if the database changed while it was read without locks. The rows may then come from two states. */
  isWhole(): boolean;
  /** Returns false if a new connection would see newer data. */
  isCurrent(): boolean;
  close(): void;
}

export function connect(path: string): Connection {
  // A pipe is rejected first, because opening it would wait for a writer.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) throw new NotAFileError(path);
  if (existsSync(path) && hasLog(path)) {
    if (isAtRest(path)) return openUnlocked(path);
    if (!existsSync(`${path}-shm`)) return openCopy(path);
  }
  try {
    return openLocked(path);
  } catch (error) {
    // Opening can fail if this user may not use the shared memory of the log, or if a crash left a journal. SQLite
    // would have to write, so a copy is opened.
    if (isUnopened(error)) return openCopy(path);
    throw error;
  }
}

/** Returns true if the database uses a write-ahead log. If so, bytes 18 and 19 of the header are 2. */
function hasLog(path: string): boolean {
  const header = Buffer.alloc(20);
  const fd = openSync(path, "r");
  try {
    readSync(fd, header, 0, header.length, 0);
  } finally {
    closeSync(fd);
  }
  return header[18] === 2 || header[19] === 2;
}

/** Returns true if the database file contains all data, because the log is empty or does not exist. */
function isAtRest(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/**
 * Opens the database without locks and without other files. If the agent writes later, its log is no longer empty, so
 * `isCurrent` returns false.
 */
function openUnlocked(path: string): Connection {
  const url = pathToFileURL(path);
  url.searchParams.set("immutable", "1");
  const before = stampOf(path);
  const database = open(url);
  const isWhole = (): boolean => stampOf(path) === before;
  return { database, isWhole, isCurrent: () => isWhole() && isAtRest(path), close: () => database.close() };
}

function stampOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat ? `${stat.size}.${stat.mtimeMs}.${stat.ino}` : "";
}

/** The time after which a write to a file surely changes the time of the file. */
const settledMs = 2000;

/**
 * Returns the stamp of a database and its log. Returns undefined if a file was just written, because another write may
 * leave the same time. The clock of a file system is coarse.
 */
export function settledStamp(path: string): string | undefined {
  const stats = [path, `${path}-wal`].map((file) => statSync(file, { throwIfNoEntry: false }));
  if (stats.some((stat) => stat && Date.now() - stat.mtimeMs < settledMs)) return undefined;
  return stats.map((stat) => (stat ? `${stat.size}.${stat.mtimeMs}.${stat.ino}` : "-")).join(" ");
}

function openLocked(path: string): Connection {
  const database = open(path);
  const inode = (): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino;
  const before = inode();
  return { database, isWhole: () => true, isCurrent: () => inode() === before, close: () => database.close() };
}

function openCopy(path: string): Connection {
  const folder = mkdtempSync(join(tmpdir(), "skein-copy-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const copy = join(folder, "db");
    for (const suffix of ["", "-wal", "-journal"])
      if (existsSync(`${path}${suffix}`)) copyFileSync(`${path}${suffix}`, `${copy}${suffix}`);
    chmodSync(copy, 0o600);
    const database = open(copy, false);
    const close = (): void => {
      database.close();
      remove();
    };
    return { database, isWhole: () => true, isCurrent: () => true, close };
  } catch (error) {
    remove();
    throw error;
  }
}

function open(place: string | URL, readOnly = true): DatabaseSync {
  const { DatabaseSync: Database } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
  const database = new Database(place, { readOnly, timeout: 2000 });
  try {
    // SQLite reads the file only at the first query. So this query finds out whether SQLite can use the file.
    database.prepare("SELECT count(*) FROM sqlite_schema").get();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Returns true for SQLITE_CANTOPEN, SQLITE_READONLY (with its variants) and SQLITE_IOERR. */
function isUnopened(error: unknown): boolean {
  const code = error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : undefined;
  return code === 14 || code === 8 || code === 10;
}
