import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { createLineSplitter, type OnRegion } from "./line-splitter.ts";
import type { ByteSearch } from "./byte-search.ts";

export interface ReadFileOptions {
  /** Where to start: the beginning of a line. */
  readonly from?: number;
  /** Read no further than this. */
  readonly until?: number;
  readonly maxLineBytes?: number;
  /** Memory to read into, so that regions can be searched; otherwise the reader has its own. */
  readonly search?: ByteSearch;
}

/** A file in Claude Code's folders that is not a plain file: a pipe, a device, a link. */
export class NotAFileError extends Error {
  override readonly name = "NotAFileError";
  readonly path: string;
  constructor(path: string) {
    super(`${path} is not a plain file.`);
    this.path = path;
  }
}

/** Reads a file in regions of whole lines. Never blocks on a pipe, never follows a link, never holds the file. */
export function readFile(path: string, options: ReadFileOptions, onRegion: OnRegion): void {
  const fd = openPlainFile(path);
  try {
    readRegions(fd, options, onRegion);
  } finally {
    closeSync(fd);
  }
}

/** Opens a plain file for reading. What it is is asked of the open file, so it cannot be swapped in between. */
export function openPlainFile(path: string): number {
  // Windows has neither flag, and neither problem: what is missing counts as 0.
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
