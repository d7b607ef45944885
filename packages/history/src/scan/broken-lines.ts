/**
 * Lines that are more or less than one record, found without parsing the others: a crash leaves two records in one line,
 * a piece of one before another, or bytes that were never written.
 *
 * The code below is `broken-lines.wat`, translated with wabt 1.0 (`wat2wasm`), which says what is a sign of such a line.
 */
import type { Region } from "./line-splitter.ts";
import { parseLine, type ParsedLine } from "./parse-line.ts";
import { machine, type ByteSearch } from "./byte-search.ts";

export interface BrokenLine {
  readonly start: number;
  /** Behind its line feed. */
  readonly end: number;
  /** What is whole in it. */
  readonly records: readonly ParsedLine["value"][];
}

/** The broken lines of a region with something whole in them, in their order. The region lies in the memory of `search`. */
export function* brokenLines(region: Region, search: ByteSearch): Generator<BrokenLine> {
  const { bytes } = region;
  const nextSign = signsIn(search);
  // Before the first byte stands something else.
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

/** Whether a line in the memory of `search` has a sign of being broken. One that has none may still be cut. */
export function mayBeBroken(search: ByteSearch, start: number, end: number): boolean {
  return search.buffer()[start] === 0 || signsIn(search)(start + 1, end) >= 0;
}

const LINE_FEED = 0x0a;

/** What is whole in a line that is broken; undefined if it is not, or if nothing in it is. */
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
