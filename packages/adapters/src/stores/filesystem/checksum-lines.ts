import { crc32 } from "node:zlib";

const NEWLINE = 10;
const SEAL = /^,"crc":"[0-9a-f]{8}"\}$/;
const SEAL_LENGTH = ',"crc":"00000000"}'.length;

/** Returns a line of JSON with a checksum at its end. `json` is an object with at least one key. */
export function withChecksum(json: string): Buffer {
  const body = Buffer.from(json.slice(0, -1));
  return Buffer.concat([body, Buffer.from(`${seal(crc32(body))}\n`)]);
}

/** Returns the object of a line, or undefined if its checksum does not match. */
export function checkedObject(line: Buffer): unknown {
  const body = line.subarray(0, -SEAL_LENGTH);
  const end = line.subarray(-SEAL_LENGTH).toString("latin1");
  if (line.length <= SEAL_LENGTH || !SEAL.test(end) || end !== seal(crc32(body))) return undefined;
  return JSON.parse(line.toString());
}

function seal(checksum: number): string {
  return `,"crc":"${checksum.toString(16).padStart(8, "0")}"}`;
}

/**
 * A line and its position. `whole` is false if the newline is missing, because the file ends in the middle of the line.
 */
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
 * Returns true if a damaged line comes from a write that a crash interrupted. Such a line is the last line. It has no
 * newline, or has zeros in place of blocks that never reached the disk. Valid lines have no zero byte, because JSON
 * escapes it.
 */
export function isTorn({ text, offset, whole }: Line, bytes: Buffer): boolean {
  return !whole || (offset + text.length + 1 === bytes.length && text.includes(0));
}
