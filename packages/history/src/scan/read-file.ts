import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { createLineSplitter, type OnRegion } from "./line-splitter.ts";
import type { ByteSearch } from "./byte-search.ts";

export interface ReadFileOptions {
  /** Where to start: the beginning of a line. */
  readonly from?: number;
  /** Read no further than this. */
  readonly until?: number;
  readonly maxLineBytes?: number;
  /** Read into the memory of this search, so that regions can be searched. */
  readonly search?: ByteSearch;
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

/** Opens a plain file for reading. The type is checked on the open file, so that it cannot be replaced in between. */
export function openPlainFile(path: string): number {
  // Windows has neither flag (they count as 0 there) and does not need them.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    if (!fstatSync(fd).isFile()) throw new NotAFileError(path);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return fd;
}

function readRegions(fd: number, options: ReadFileOptions, onRegion: OnRegion): void {
  const { from = 0, until = Number.POSITIVE_INFINITY, search } = options;
  const splitter = createLineSplitter({
    from,
    ...(options.maxLineBytes === undefined ? {} : { maxLineBytes: options.maxLineBytes }),
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
