/**
 * Splits a file into regions of whole lines, so that the file is never in memory as a whole.
 *
 * The caller reads into `space()`, reports the number of bytes with `took`, and gets the whole lines in them. The
 * buffer grows for a long line, up to `maxLineBytes`; a longer line is skipped and reported.
 */
export interface LineSplitter {
  /** Free space to read into. */
  space(): Buffer;
  /** Accepts `count` new bytes and passes the whole lines to `onRegion`. */
  took(count: number, onRegion: OnRegion): void;
  /** Is called at the end of the file. Passes the last line to `onRegion` if the line has no line feed. */
  finish(onRegion: OnRegion): void;
}

/** Whole lines in `bytes[start, end)`, valid only during the call. `offset` is the position of `start` in the file. */
export type OnRegion = (region: Region) => void;

export interface Region {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly offset: number;
  /** Whether the line is longer than allowed. The region has only its first bytes, and the rest is skipped. */
  readonly tooLong: boolean;
  /** Whether the region ends without a line feed, so that its last line may still be growing. */
  readonly unterminated: boolean;
}

export interface LineSplitterOptions {
  readonly from?: number;
  /** The memory to read into, and a function that enlarges it without losing its content. */
  readonly buffer?: Buffer;
  readonly grow?: (buffer: Buffer, bytes: number) => Buffer;
  readonly maxLineBytes?: number;
}

const LF = 0x0a;
/** 256 MiB: below V8's limit for one string, with room for the copies that parsing makes. */
const defaultMaxLineBytes = 256 * 1024 * 1024;

export function createLineSplitter(options: LineSplitterOptions = {}): LineSplitter {
  const { from = 0, grow = copyInto, maxLineBytes = defaultMaxLineBytes } = options;
  let bytes = options.buffer ?? Buffer.allocUnsafeSlow(256 * 1024);
  let filled = 0;
  let offset = from;
  let skipping = false;

  const drop = (count: number): void => {
    bytes.copyWithin(0, count, filled);
    filled -= count;
    offset += count;
  };

  const passOver = (): void => {
    const lineFeed = bytes.subarray(0, filled).indexOf(LF);
    skipping = lineFeed < 0;
    drop(lineFeed < 0 ? filled : lineFeed + 1);
  };

  return {
    space() {
      if (filled === bytes.length) {
        bytes = grow(bytes, Math.min(bytes.length * 2, Math.max(maxLineBytes, bytes.length) + 1));
      }
      return bytes.subarray(filled);
    },

    took(count, onRegion) {
      filled += count;
      if (skipping) passOver();
      if (skipping || filled === 0) return;
      const end = bytes.subarray(0, filled).lastIndexOf(LF) + 1;
      if (end > 0) {
        onRegion({ bytes, start: 0, end, offset, tooLong: false, unterminated: false });
        drop(end);
        return;
      }
      if (filled <= maxLineBytes) return;
      onRegion({ bytes, start: 0, end: Math.min(filled, 4096), offset, tooLong: true, unterminated: false });
      skipping = true;
      drop(filled);
    },

    finish(onRegion) {
      if (filled === 0 || skipping) return;
      onRegion({ bytes, start: 0, end: filled, offset, tooLong: false, unterminated: true });
      drop(filled);
    },
  };
}

function copyInto(buffer: Buffer, bytes: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(bytes);
  buffer.copy(larger);
  return larger;
}

/** Calls `onLine` for each line of a region, without line feed and carriage return. Returns the number of lines. */
export function forEachLine(
  region: { readonly bytes: Buffer; readonly start: number; readonly end: number },
  onLine: (start: number, end: number) => void,
): number {
  const { bytes, end } = region;
  let count = 0;
  let start = region.start;
  while (start < end) {
    let lineFeed = bytes.indexOf(LF, start);
    if (lineFeed < 0 || lineFeed > end) lineFeed = end;
    const lineEnd = lineFeed > start && bytes[lineFeed - 1] === 0x0d ? lineFeed - 1 : lineFeed;
    count += 1;
    onLine(start, lineEnd);
    start = lineFeed + 1;
  }
  return count;
}
