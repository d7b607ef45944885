import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { createLineSplitter, type OnRegion } from "./line-splitter.ts";
import type { ByteSearch } from "./byte-search.ts";

export interface ReadFileOptions {
  /** Where to start: the beginning of a line. */
  readonly from?: number;
  /**
   * Where to stop. Default: the end of the file. With `search`, bytes that are added while the file is read are left
   * out.
   */
  readonly until?: number;
  readonly maxLineBytes?: number;
  /** The file is read into the memory of this search, so that the search can read the regions without a copy. */
  readonly search?: ByteSearch;
  /** Memory to read into. After the call, the caller can use it again. */
  readonly buffer?: Buffer;
}

/** The path is not a plain file but a pipe, a device or a symbolic link. */
export class NotAFileError extends Error {
  override readonly name = "NotAFileError";
  readonly path: string;
  constructor(path: string) {
    super(`${path} is not a plain file.`);
    this.path = path;
  }
}

/** Reads a file in regions of whole lines. It does not block on pipes, follow links or load the whole file. */
export function readFile(path: string, options: ReadFileOptions, onRegion: OnRegion): void {
  const fd = openPlainFile(path);
  try {
    readRegions(fd, options, onRegion);
  } finally {
    closeSync(fd);
  }
}

/** On Windows, the last two flags are 0 and not needed. */
const openFlags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/**
 * Opens a plain file for reading. The type of the open file is checked, because the path may be replaced at any time.
 */
export function openPlainFile(path: string): number {
  const fd = openSync(path, openFlags);
  try {
    if (!fstatSync(fd).isFile()) throw new NotAFileError(path);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return fd;
}

function readRegions(fd: number, options: ReadFileOptions, onRegion: OnRegion): void {
  const { from = 0, search } = options;
  const until = options.until ?? (search ? fstatSync(fd).size : Number.POSITIVE_INFINITY);
  if (search && until - from <= search.buffer().length && readAtOnce(fd, { from, until, search }, onRegion)) return;
  const splitter = createLineSplitter({
    from,
    ...(options.maxLineBytes === undefined ? {} : { maxLineBytes: options.maxLineBytes }),
    ...(options.buffer && { buffer: options.buffer }),
    ...(search ? { buffer: search.buffer(), grow: (_, bytes) => search.grow(bytes) } : {}),
  });
  let position = from;
  while (position < until) {
    const space = splitter.space();
    const count = readSync(fd, space, 0, Math.min(space.length, until - position), position);
    if (count === 0) break;
    position += count;
    splitter.took(count, onRegion);
  }
  splitter.finish(onRegion);
}

/**
 * Reads all bytes at once into the memory of the search. Returns false if one read does not return all of them. The
 * caller then reads the file in pieces.
 */
function readAtOnce(
  fd: number,
  { from, until, search }: { readonly from: number; readonly until: number; readonly search: ByteSearch },
  onRegion: OnRegion,
): boolean {
  const length = until - from;
  if (length <= 0) return true;
  const bytes = search.buffer();
  if (readSync(fd, bytes, 0, length, from) !== length) return false;
  const end = bytes[length - 1] === 0x0a ? length : bytes.lastIndexOf(0x0a, length - 1) + 1;
  if (end > 0) onRegion({ bytes, start: 0, end, offset: from, tooLong: false, unterminated: false });
  if (end < length)
    onRegion({ bytes, start: end, end: length, offset: from + end, tooLong: false, unterminated: true });
  return true;
}
