/**
 * Shortens lines that are too long for DuckDB. Its reader holds each line in memory in every thread, and parsing needs
 * several times as much. So DuckDB reads another file, where the long texts of these lines are cut and all other bytes
 * are unchanged. The file is written in blocks, because a line may not fit into memory.
 */
import { closeSync, openSync, readSync, writeFileSync } from "node:fs";

export interface LongLine {
  /** The number of the line, from 1. Blank lines are not counted. */
  readonly line: number;
  /** The bytes of the line in the file, without the line feed. */
  readonly start: number;
  readonly end: number;
}

/** The most bytes of a cut text. */
const MOST_TEXT_BYTES = 2 ** 20;
/**
 * The bytes that are kept of a line that is too long even with cut texts. This beginning is not valid JSON, so it is
 * reported as damage.
 */
const BEGINNING_BYTES = 1000;
const BLOCK_BYTES = 2 ** 20;

/** Returns the lines with more than `most` bytes. */
export function longLines(path: string, most: number): readonly LongLine[] {
  const found: LongLine[] = [];
  let line = 0;
  let start = 0;
  let isBlank = true;
  const finish = (end: number): void => {
    if (!isBlank) line += 1;
    if (end - start > most) found.push({ line, start, end });
    start = end + 1;
    isBlank = true;
  };
  const fd = openSync(path, "r");
  try {
    let offset = 0;
    forEachBlock(fd, { start: 0, end: Infinity }, (block) => {
      for (let from = 0; from <= block.length;) {
        const feed = block.indexOf(LINE_FEED, from);
        const end = feed < 0 ? block.length : feed;
        for (let at = from; isBlank && at < end; at += 1) isBlank = isSpace(block[at] ?? 0);
        if (feed >= 0) finish(offset + feed);
        from = end + 1;
      }
      offset += block.length;
    });
    finish(offset);
  } finally {
    closeSync(fd);
  }
  return found;
}

/** Copies the file to `target` and shortens the given lines to at most `most` bytes. */
export function writeShortened(path: string, target: string, { lines, most }: Shortening): void {
  const from = openSync(path, "r");
  const to = openSync(target, "w", 0o600);
  const write = (bytes: Uint8Array): void => writeFileSync(to, bytes);
  try {
    let copied = 0;
    for (const { start, end } of lines) {
      forEachBlock(from, { start: copied, end: start }, write);
      const kept: Uint8Array[] = [];
      let size = 0;
      const cut = createCutter((bytes) => {
        size += bytes.length;
        if (size <= most) kept.push(Buffer.from(bytes));
      });
      forEachBlock(from, { start, end }, cut);
      if (size <= most) kept.forEach(write);
      else forEachBlock(from, { start, end: start + BEGINNING_BYTES }, write);
      copied = end;
    }
    forEachBlock(from, { start: copied, end: Infinity }, write);
  } finally {
    closeSync(from);
    closeSync(to);
  }
}

interface Shortening {
  readonly lines: readonly LongLine[];
  readonly most: number;
}

/**
 * Returns a function that receives the bytes of a line in blocks. It calls `give` with the bytes without the ends of
 * long texts.
 */
function createCutter(give: (bytes: Uint8Array) => void): (block: Uint8Array) => void {
  let isText = false;
  let isCut = false;
  let length = 0;
  /**
   * The state of an escape sequence: 5 before its letter, 4 to 1 for the digits of a \u that are still to come, 0
   * outside.
   */
  let escape = 0;
  let unit = 0;
  /** Whether the first half of a surrogate pair was written, so that the second half must follow. */
  let isHalf = false;

  return (block) => {
    let from = 0;
    for (let at = 0; at < block.length; at += 1) {
      const byte = block[at] ?? 0;
      if (!isText) {
        isText = byte === QUOTE;
        length = 0;
        continue;
      }
      length += 1;
      if (escape === 5) {
        escape = byte === LETTER_U ? 4 : 0;
        unit = 0;
        isHalf = false;
        continue;
      }
      if (escape > 0) {
        unit = unit * 16 + Number.parseInt(String.fromCharCode(byte), 16);
        isHalf = unit >= 0xd800 && unit < 0xdc00;
        escape -= 1;
        continue;
      }
      const isWithinLetter = (byte & 0xc0) === 0x80;
      if (!isCut && length > MOST_TEXT_BYTES && !isHalf && !isWithinLetter) {
        give(block.subarray(from, at));
        isCut = true;
      }
      if (byte === BACKSLASH) escape = 5;
      else isHalf = false;
      if (byte !== QUOTE) continue;
      if (isCut) from = at;
      isText = false;
      isCut = false;
    }
    if (!isCut) give(block.subarray(from));
  };
}

function forEachBlock(fd: number, part: { start: number; end: number }, take: (block: Buffer) => void): void {
  const block = Buffer.allocUnsafe(BLOCK_BYTES);
  for (let { start } = part; start < part.end;) {
    const size = readSync(fd, block, 0, Math.min(BLOCK_BYTES, part.end - start), start);
    if (size === 0) return;
    take(block.subarray(0, size));
    start += size;
  }
}

const LINE_FEED = 10;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;

const isSpace = (byte: number): boolean => byte === 32 || (byte >= 9 && byte <= 13);
