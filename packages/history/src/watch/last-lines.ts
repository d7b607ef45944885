import { closeSync, readSync } from "node:fs";
import { crc32 } from "node:zlib";
import { openPlainFile } from "../scan/read-file.ts";

/** At least this number of last lines is remembered. An agent changes fewer lines at the end of a session. */
const most = 128;
const blockBytes = 64 * 1024;
const mostBytes = 4 * 1024 * 1024;
const LF = 0x0a;

interface Line {
  readonly start: number;
  readonly end: number;
  readonly check: number;
}

/**
 * Remembers the last lines of a followed file. If an agent other than Claude Code changes the last lines of a session,
 * the translation of the session is a new file. For example, an answer gets its tokens. Comparing the last lines finds
 * the changed lines, and only these are reported again.
 */
export interface LastLines {
  /**
   * Remembers a complete line at this position, with its line feed. Returns false if the replaced file already had this
   * line.
   */
  add(start: number, bytes: Buffer): boolean;
  /**
   * Finds the last remembered line that is still at its position in the file. Returns its end, and how many remembered
   * lines came after it. Returns undefined if no line is at its position.
   */
  findIn(path: string): { readonly end: number; readonly dropped: number } | undefined;
}

export function createLastLines(): LastLines {
  let lines: Line[] = [];
  let moved = new Set<number>();
  return {
    add(start, bytes) {
      const check = crc32(bytes);
      lines.push({ start, end: start + bytes.length, check });
      if (lines.length > 2 * most) lines = lines.slice(-most);
      return !moved.delete(check);
    },
    findIn(path) {
      const at = lines.findLastIndex((line) => isIn(path, line));
      moved = new Set(lines.slice(at + 1).map(({ check }) => check));
      const dropped = lines.length - 1 - at;
      lines = lines.slice(0, at + 1);
      const last = lines.at(-1);
      if (last) return { end: last.end, dropped };
      moved.clear();
      return undefined;
    },
  };
}

function isIn(path: string, { start, end, check }: Line): boolean {
  let fd: number;
  try {
    fd = openPlainFile(path);
  } catch {
    return false;
  }
  try {
    const bytes = Buffer.allocUnsafe(end - start);
    return readSync(fd, bytes, 0, bytes.length, start) === bytes.length && crc32(bytes) === check;
  } finally {
    closeSync(fd);
  }
}

/** Remembers the lines at the end of a file. Returns the end of the last complete line. */
export function readLastLines(fd: number, size: number, lines: LastLines): number {
  for (let length = Math.min(size, blockBytes); ; length = Math.min(size, mostBytes, length * 8)) {
    const start = size - length;
    const bytes = Buffer.allocUnsafe(length);
    const block = bytes.subarray(0, readSync(fd, bytes, 0, length, start));
    const end = block.lastIndexOf(LF) + 1;
    const first = start === 0 ? 0 : block.indexOf(LF) + 1;
    if (first >= end && length < Math.min(size, mostBytes)) continue;
    for (let at = first; at < end;) {
      const next = block.indexOf(LF, at) + 1;
      lines.add(start + at, block.subarray(at, next));
      at = next;
    }
    return end === 0 ? 0 : start + end;
  }
}
