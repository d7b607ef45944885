/**
 * Finds broken lines without parsing every line. A crash may leave two records in one line, a piece of a record before
 * another record, or NUL bytes.
 *
 * The code below is `broken-lines.wat`, translated with wabt 1.0 (`wat2wasm`). That file describes how broken lines are
 * recognised.
 */
import type { Region } from "./line-splitter.ts";
import { parseLine, type ParsedLine } from "./parse-line.ts";
import { machine, type ByteSearch } from "./byte-search.ts";

export interface BrokenLine {
  readonly start: number;
  /** The position after the line feed of the line. */
  readonly end: number;
  /** The whole records in the line. */
  readonly records: readonly ParsedLine["value"][];
}

/** Yields the broken lines of a region, if they contain whole records. The region must be in the memory of `search`. */
export function* brokenLines(region: Region, search: ByteSearch): Generator<BrokenLine> {
  const { bytes } = region;
  const nextSign = signsIn(search);
  // The search also looks at the byte before each position, so it starts at the region's second byte.
  const first = bytes[region.start] === 0 ? region.start : region.start + 1;
  for (let at = first; at < region.end;) {
    const sign = nextSign(at, region.end);
    if (sign < 0) return;
    const start = Math.max(region.start, bytes.lastIndexOf(LINE_FEED, sign) + 1);
    const lineFeed = bytes.indexOf(LINE_FEED, sign);
    const end = lineFeed < 0 || lineFeed >= region.end ? region.end : lineFeed + 1;
    const records = recordsOf(bytes.subarray(start, end), region.offset + start - region.start);
    if (records) yield { start, end, records };
    at = end;
  }
}

/** Whether a line in the memory of `search` may be broken. A line that was cut at its end is not recognised. */
export function mayBeBroken(search: ByteSearch, start: number, end: number): boolean {
  return search.buffer()[start] === 0 || signsIn(search)(start + 1, end) >= 0;
}

const LINE_FEED = 0x0a;

/** Returns the whole records in a broken line, or undefined if the line is not broken or has no whole record. */
function recordsOf(line: Buffer, offset: number): BrokenLine["records"] | undefined {
  let isBroken = false;
  const records = parseLine(line, { line: 1, offset }, ({ kind }) => {
    isBroken ||= kind === "glued" || kind === "nul-bytes";
  });
  return isBroken && records.length > 0 ? records.map(({ value }) => value) : undefined;
}

type NextSign = (at: number, end: number) => number;

const code =
  "AGFzbQEAAAABBwFgAn9/AX8CDwEDZW52Bm1lbW9yeQIAAQMCAQAHCAEEc2lnbgAACpoBAZcBAgJ7An8CQANAIAAgAU8NASAA/QAAACECIABBAWv9AAAAIQMgAkEA/Q/9IyACQfsA/Q/9IyAA/QAAAUEi/Q/9I/1OIANBCv0P/SMgA0E6/Q/9I/1QIANBLP0P/SMgA0HbAP0P/SP9UP1Q/U/9UP1kIQQgBEUEQCAAQRBqIQAMAQsgACAEaGohBSAFIAFPDQEgBQ8LC0F/Cw==";

let compiled: object | undefined;
const instances = new WeakMap<ByteSearch, NextSign>();

function signsIn(search: ByteSearch): NextSign {
  const known = instances.get(search);
  if (known) return known;
  compiled ??= new machine.Module(Buffer.from(code, "base64"));
  const { memory, bufferAt } = search.machine;
  const { exports } = new machine.Instance(compiled, { env: { memory } });
  const sign = exports["sign"] as NextSign;
  const next: NextSign = (at, end) => {
    const found = sign(bufferAt + at, bufferAt + end);
    return found < 0 ? -1 : found - bufferAt;
  };
  instances.set(search, next);
  return next;
}
