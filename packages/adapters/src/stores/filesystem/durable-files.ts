import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsync,
  ftruncateSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { chmod, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { KnownError } from "@skein/protocol";

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
// Windows has no `O_NOFOLLOW`, so a link in the folder is followed there.
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
const fdatasynced = promisify(fdatasync);
const fsynced = promisify(fsync);

/** Turns a failure of the disk into an error that the caller can act on. Other errors are returned unchanged. */
export function storeError(error: unknown, path: string): unknown {
  const name = basename(path);
  switch ((error as NodeJS.ErrnoException).code) {
    case "ENOSPC":
    case "EDQUOT":
      return new KnownError(
        "disk_full",
        `The disk is full: cannot write ${name}. Nothing of this write was stored. Free some space and try again.`,
        {
          cause: error,
        },
      );
    case "EROFS":
    case "EACCES":
    case "EPERM":
      return new KnownError(
        "read_only",
        `${name} cannot be written: the folder is read-only or belongs to another user.`,
        {
          cause: error,
        },
      );
    case "EIO":
    case "EMFILE":
    case "ENFILE":
    case "ENODEV":
    case "ELOOP":
    case "ENXIO":
      return new KnownError("store_unavailable", `${name} cannot be used now: ${(error as Error).message}.`, {
        cause: error,
      });
    default:
      return error;
  }
}

/** Runs `work`, and converts failures of the disk as `storeError` does. */
export async function withKnownErrors<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw storeError(error, path);
  }
}

/**
 * Makes a folder and the missing folders above it. Only the owner can access new folders, under every umask. An
 * existing folder keeps its mode.
 */
export function makeFolder(path: string): void {
  const parent = dirname(path);
  // The parent is made once, without a retry: below /proc, the kernel reports existing folders as missing.
  if (parent !== path && !existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(path, { mode: FOLDER_MODE });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && statSync(path).isDirectory()) return;
    throw error;
  }
  // The umask may have removed the owner's right to write. Without this right, nothing can be created in the folder.
  chmodSync(path, FOLDER_MODE);
}

/** Removes a file or a folder. `rmSync` is not used for files, because it hides the reason of a failure. */
export function removeEntry(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EISDIR") rmSync(path, { recursive: true });
    else if (code !== "ENOENT") throw error;
  }
}

interface Growth {
  readonly path: string;
  readonly bytes: Buffer;
  /** The current size of the file. 0 means that the file must not exist yet. */
  readonly size: number;
}

/**
 * Appends to files, and syncs each append. Removes the bytes of a failed append, at the latest before the next append.
 * A crash can leave a part of an append, which the reader of the file must recognise.
 */
export interface Appender {
  grow(growth: Growth): Promise<void>;
}

export function createAppender(): Appender {
  /** Files that may hold bytes of a failed append, because the bytes could not be cut off. */
  const unsure = new Set<string>();

  function opened({ path, size }: Growth): number {
    const create = size === 0 ? constants.O_CREAT | constants.O_EXCL : 0;
    const fd = openSync(path, constants.O_WRONLY | constants.O_APPEND | NO_FOLLOW | create, FILE_MODE);
    if (size === 0) fchmodSync(fd, FILE_MODE);
    return fd;
  }

  function checkSize(fd: number, { path, size }: Growth): void {
    const actual = fstatSync(fd).size;
    if (actual === size) return;
    if (!unsure.has(path))
      throw new KnownError(
        "store_corrupt",
        `${basename(path)} has ${actual} bytes instead of ${size}: another program changed it.`,
      );
    ftruncateSync(fd, size);
    unsure.delete(path);
  }

  function cutBack(fd: number, { path, size }: Growth): void {
    try {
      ftruncateSync(fd, size);
      fdatasyncSync(fd);
      if (size === 0) unlinkSync(path);
    } catch {
      unsure.add(path);
    }
  }

  return {
    async grow(growth) {
      try {
        const fd = opened(growth);
        try {
          checkSize(fd, growth);
          try {
            writeAll(fd, growth.bytes);
            await fdatasynced(fd);
          } catch (error) {
            cutBack(fd, growth);
            throw error;
          }
        } finally {
          closeSync(fd);
        }
      } catch (error) {
        throw storeError(error, growth.path);
      }
    },
  };
}

/** Repeats the write until all bytes are written. A disk may accept only a part of them before it is full. */
function writeAll(fd: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
}

/**
 * Returns a function that makes new entries of a folder durable. Calls during a sync share the next sync, because the
 * running sync may have missed their entries.
 */
export function createFolderSync(folder: string): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  async function sync(): Promise<void> {
    try {
      await syncFolder(folder);
    } finally {
      running = undefined;
    }
  }

  return () => {
    if (!running) return (running = sync());
    next ??= running
      .catch(() => {})
      .then(() => {
        next = undefined;
        return (running = sync());
      });
    return next;
  };
}

export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const fd = openSync(folder, constants.O_RDONLY);
  try {
    await fsynced(fd);
  } finally {
    closeSync(fd);
  }
}

/**
 * Replaces a file, so that readers see either the old or the new content. Syncs only if `durable` is true, because a
 * sync is slow.
 */
export async function replaceFile(path: string, text: string | Buffer, durable: boolean): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);
  try {
    const file = await open(temporary, "wx", FILE_MODE);
    try {
      await file.writeFile(text);
      if (durable) await file.datasync();
    } finally {
      await file.close();
    }
    await chmod(temporary, FILE_MODE);
    await rename(temporary, path);
    if (durable) await syncFolder(dirname(path));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}

/** Appends to a file without a sync, so a power failure can lose the text. */
export async function addToFile(path: string, text: string): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | NO_FOLLOW, FILE_MODE);
  try {
    const { size } = await file.stat();
    if (size === 0) await file.chmod(FILE_MODE);
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}

/**
 * Reads the bytes of a file between two positions, by default all bytes. Rejects a link, and does not wait for a pipe.
 */
export async function readBytes(path: string, from = 0, to?: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | NO_FOLLOW | (constants.O_NONBLOCK ?? 0));
  try {
    const length = (to ?? (await file.stat()).size) - from;
    const bytes = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await file.read(bytes, filled, length - filled, from + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return bytes.subarray(0, filled);
  } finally {
    await file.close();
  }
}
