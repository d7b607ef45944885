import { type ErrorCode, KnownError, isKnownError } from "@skein/protocol";

/** Primary result codes of sqlite, and their meaning for a caller. */
const CODES: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  5: ["store_unavailable", "Another process has been writing to the database for too long. Try again."],
  6: ["store_unavailable", "A table is locked. Try again."],
  8: ["read_only", "The database cannot be written: check the permissions of its file and folder."],
  10: ["store_unavailable", "The disk reported an error. Nothing of the append was stored."],
  11: ["store_corrupt", "The database file is damaged. Restore it from a backup, or export what can be read."],
  13: ["disk_full", "The disk is full. Nothing of the append was kept; make room and try again."],
  14: ["read_only", "The database file cannot be opened: check that its folder exists and can be written."],
  26: ["store_corrupt", "The file is not a sqlite database."],
};

/** Error codes for a folder that cannot be written, or a path at which something else exists. */
const NO_FOLDER = new Set(["EACCES", "EROFS", "EPERM", "EEXIST", "ENOTDIR", "EISDIR"]);

/** The code for a shared-memory file that cannot grow. On a full disk, this is sqlite's first error. */
const NO_ROOM_FOR_SHARED_MEMORY = 10 | (19 << 8);

/**
 * Turns an error of sqlite or of the file system into an error that the caller can act on. Other errors are bugs and
 * are returned unchanged.
 */
export function knownSqliteError(error: unknown): unknown {
  if (isKnownError(error)) return error;
  const { errcode, code } = error as { errcode?: number; code?: string };
  const primary = errcode === NO_ROOM_FOR_SHARED_MEMORY ? 13 : (errcode ?? 0) & 0xff;
  const known = CODES[primary];
  if (known) return new KnownError(known[0], known[1], { cause: error });
  if (code !== undefined && NO_FOLDER.has(code))
    return new KnownError("read_only", "The store's folder cannot be created or written.", { cause: error });
  if (code === "ENOSPC") return new KnownError("disk_full", "The disk is full.", { cause: error });
  return error;
}
