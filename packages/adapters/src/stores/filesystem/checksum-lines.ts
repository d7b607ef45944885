import { crc32 } from "node:zlib";

const NEWLINE = 10;
const SEAL = /^,"crc":"[0-9a-f]{8}"\}$/;
const SEAL_LENGTH = ',"crc":"00000000"}'.length;

/** A line of JSON that ends with its own checksum. `json` is the text of an object with at least one key. */
export function withChecksum(json: string): Buffer {
  const body = Buffer.from(json.slice(0, -1));
  return Buffer.concat([body, Buffer.from(`${seal(crc32(body))}\n`)]);
}

/** The object of a line, or undefined if the line is damaged: its checksum does not match. */
export function checkedObject(line: Buffer): unknown {
  const body = line.subarray(0, -SEAL_LENGTH);
  const end = line.subarray(-SEAL_LENGTH).toString("latin1");
  if (line.length <= SEAL_LENGTH || !SEAL.test(end) || end !== seal(crc32(body))) return undefined;
  return JSON.parse(line.toString());
}

function seal(checksum: number): string {
  return `,"crc":"${checksum.toString(16).padStart(8, "0")}"}`;
}

/** A line and its position. The newline is missing if the file ends in the middle of the line. */
export interface Line {
  readonly text: Buffer;
  readonly offset: number;
  readonly whole: boolean;
}

export function* linesOf(bytes: Buffer): Generator<Line> {
  for (let offset = 0; offset < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, offset);
    const whole = end !== -1;
    const text = bytes.subarray(offset, whole ? end : bytes.length);
    yield { text, offset, whole };
    offset += text.length + 1;
  }
}

/**
 * Whether a damaged line is the rest of a write that a crash interrupted: it has no newline, or zeros in place of
 * blocks that never reached the disk. It must be the last line. Our lines contain no zero byte, because JSON escapes
 * it.
 */
export function isTorn({ text, offset, whole }: Line, bytes: Buffer): boolean {
  return !whole || (offset + text.length + 1 === bytes.length && text.includes(0));
}
