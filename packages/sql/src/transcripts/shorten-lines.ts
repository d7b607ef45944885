/**
 * Shortens lines that are too long for DuckDB. Its reader holds each line in memory, in every thread, and parsing needs several
 * times as much. So a transcript with such lines is read through another file, in which their long texts are cut; all other
 * bytes are the same. It is written in blocks, because a line may not fit into memory.
 */
import { closeSync, openSync, readSync, writeFileSync } from "node:fs";

export interface LongLine {
  /** From 1; blank lines are not counted. */
  readonly line: number;
  /** Its place in the file in bytes, without the line feed. */
  readonly start: number;
  readonly end: number;
}

/** How many bytes of a long text are kept. */
const MOST_TEXT_BYTES = 2 ** 20;
/** How many bytes are kept of a line that is still too long. The line is then not valid JSON, and is reported as damage. */
const BEGINNING_BYTES = 1000;
const BLOCK_BYTES = 2 ** 20;

/** The lines with more than `most` bytes. */
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

/** Writes the file with these lines shortened to at most `most` bytes each. */
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

/** Receives the bytes of a line in blocks, and passes them on without the ends of long texts. */
function createCutter(give: (bytes: Uint8Array) => void): (block: Uint8Array) => void {
  let isText = false;
  let isCut = false;
  let length = 0;
  /** The state of an escape sequence: 5 means that its letter comes next; 4 to 1, how many digits of a \u are left; 0, none. */
  let escape = 0;
  let unit = 0;
  /** The first half of a surrogate pair was written, so the second must follow. */
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
