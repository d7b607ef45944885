/**
 * Finds the type, the time and other fields of a line in its bytes. Also finds the position of the message.
 *
 * Keys have no fixed order: `type` may follow a nested `"type"` (attachments, answers), so a plain search would be
 * wrong. The line is read up to its first nested value, and backwards from its end to its last nested value. If the
 * type is in neither part, the whole line is read.
 */
import { beforeSpace, findKeys, keys, newFound, skipSpace, skipString } from "../../../scan/json-scan.ts";

/** Positions in a line; -1 if a field was not found. Positions of strings are without the quotes. */
export interface Peek {
  typeStart: number;
  typeEnd: number;
  timestampStart: number;
  timestampEnd: number;
  cwdStart: number;
  cwdEnd: number;
  versionStart: number;
  versionEnd: number;
  branchStart: number;
  branchEnd: number;
  uuidStart: number;
  uuidEnd: number;
  requestIdStart: number;
  requestIdEnd: number;
  isSidechain: boolean;
  /** The position after the last nested value. Only pairs with plain values follow. */
  tailAt: number;
  /** The key of the first nested value, and the position of this value. Usually the key is `message`. */
  nestedKeyStart: number;
  nestedKeyEnd: number;
  nestedAt: number;
}

export function newPeek(): Peek {
  return {
    typeStart: -1,
    typeEnd: -1,
    timestampStart: -1,
    timestampEnd: -1,
    cwdStart: -1,
    cwdEnd: -1,
    versionStart: -1,
    versionEnd: -1,
    branchStart: -1,
    branchEnd: -1,
    uuidStart: -1,
    uuidEnd: -1,
    requestIdStart: -1,
    requestIdEnd: -1,
    isSidechain: false,
    tailAt: -1,
    nestedKeyStart: -1,
    nestedKeyEnd: -1,
    nestedAt: -1,
  };
}

const QUOTE = 0x22;

/**
 * Fills `peek` for the line in `[start, end)`. Returns false if the bytes do not look like an object with a `type`. A
 * time between two nested values is not found here; `findTimestamp` finds it.
 */
export function peekLine(bytes: Buffer, start: number, end: number, peek: Peek): boolean {
  reset(peek);
  if (!walkHead(bytes, start, end, peek)) return false;
  if (peek.nestedAt >= 0) walkTail(bytes, peek.nestedAt, end, peek);
  if (peek.typeStart < 0) walkAll(bytes, start, end, peek);
  return peek.typeStart >= 0;
}

/** Reads the whole line to find its time. */
export function findTimestamp(bytes: Buffer, start: number, end: number): string | undefined {
  findKeys(bytes, start, end, wanted, found);
  const [, , at = -1, until = -1] = found;
  return at >= 0 && bytes[at] === QUOTE ? bytes.toString("latin1", at + 1, until - 1) : undefined;
}

function reset(peek: Peek): void {
  peek.typeStart = peek.typeEnd = peek.timestampStart = peek.timestampEnd = -1;
  peek.cwdStart = peek.cwdEnd = peek.versionStart = peek.versionEnd = -1;
  peek.branchStart = peek.branchEnd = peek.uuidStart = peek.uuidEnd = -1;
  peek.requestIdStart = peek.requestIdEnd = peek.tailAt = -1;
  peek.nestedKeyStart = peek.nestedKeyEnd = peek.nestedAt = -1;
  peek.isSidechain = false;
}

function walkHead(bytes: Buffer, start: number, end: number, peek: Peek): boolean {
  let i = skipSpace(bytes, start, end);
  if (bytes[i] !== 0x7b) return false;
  i = skipSpace(bytes, i + 1, end);
  while (i < end && bytes[i] === QUOTE) {
    const keyEnd = skipString(bytes, i, end);
    if (keyEnd < 0) return false;
    const colon = skipSpace(bytes, keyEnd, end);
    if (bytes[colon] !== 0x3a) return false;
    const value = skipSpace(bytes, colon + 1, end);
    const first = bytes[value];
    if (first === 0x7b || first === 0x5b) {
      peek.nestedKeyStart = i + 1;
      peek.nestedKeyEnd = keyEnd - 1;
      peek.nestedAt = value;
      return true;
    }
    let valueEnd: number;
    if (first === QUOTE) {
      valueEnd = skipString(bytes, value, end);
      if (valueEnd < 0) return false;
      noteString(bytes, i + 1, keyEnd - 1, value + 1, valueEnd - 1, peek);
    } else {
      valueEnd = value;
      while (valueEnd < end && bytes[valueEnd] !== 0x2c && bytes[valueEnd] !== 0x7d) valueEnd += 1;
      // The only flag that is needed is `isSidechain`.
      if (first === 0x74 && keyEnd - i === 13 && bytes[i + 3] === 0x53) peek.isSidechain = true;
    }
    i = skipSpace(bytes, valueEnd, end);
    if (bytes[i] !== 0x2c) return bytes[i] === 0x7d;
    i = skipSpace(bytes, i + 1, end);
  }
  return false;
}

/**
 * The keys of interest differ in length or first letter. One more letter distinguishes some of them from other keys.
 */
// oxlint-disable-next-line max-params
function noteString(
  bytes: Buffer,
  keyStart: number,
  keyEnd: number,
  valueStart: number,
  valueEnd: number,
  peek: Peek,
): void {
  const length = keyEnd - keyStart;
  const first = bytes[keyStart];
  if (length === 4 && first === 0x74 && bytes[keyStart + 1] === 0x79) {
    peek.typeStart = valueStart;
    peek.typeEnd = valueEnd;
  } else if (length === 9 && first === 0x74) {
    if (bytes[keyStart + 4] !== 0x73) return;
    peek.timestampStart = valueStart;
    peek.timestampEnd = valueEnd;
  } else if (length === 3 && first === 0x63) {
    peek.cwdStart = valueStart;
    peek.cwdEnd = valueEnd;
  } else if (length === 7 && first === 0x76) {
    peek.versionStart = valueStart;
    peek.versionEnd = valueEnd;
  } else if (length === 9 && first === 0x67) {
    if (bytes[keyStart + 3] !== 0x42) return;
    peek.branchStart = valueStart;
    peek.branchEnd = valueEnd;
  } else if (length === 4 && first === 0x75) {
    peek.uuidStart = valueStart;
    peek.uuidEnd = valueEnd;
  } else if (length === 9 && first === 0x72 && bytes[keyStart + 7] === 0x49) {
    peek.requestIdStart = valueStart;
    peek.requestIdEnd = valueEnd;
  }
}

/** Reads pairs of a key and a plain value backwards from the end of the object to its last nested value. */
function walkTail(bytes: Buffer, start: number, end: number, peek: Peek): void {
  let i = beforeSpace(bytes, end - 1, start);
  if (bytes[i] !== 0x7d) return;
  peek.tailAt = i;
  i = beforeSpace(bytes, i - 1, start);
  for (;;) {
    const valueEnd = i + 1;
    const isString = bytes[i] === QUOTE;
    i = isString ? beforeString(bytes, i, start) : beforeScalar(bytes, i, start);
    const valueStart = i + 1;
    i = beforeSpace(bytes, i, start);
    if (i <= start || bytes[i] !== 0x3a) return;
    const keyEnd = beforeSpace(bytes, i - 1, start);
    if (bytes[keyEnd] !== QUOTE) return;
    const beforeKey = beforeString(bytes, keyEnd, start);
    i = beforeSpace(bytes, beforeKey, start);
    if (i <= start || bytes[i] !== 0x2c) return;
    if (isString) noteString(bytes, beforeKey + 2, keyEnd, valueStart + 1, valueEnd - 1, peek);
    else if (bytes[valueStart] === 0x74 && keyEnd - beforeKey === 13 && bytes[beforeKey + 4] === 0x53)
      peek.isSidechain = true;
    peek.tailAt = i;
    i = beforeSpace(bytes, i - 1, start);
  }
}

/** Returns the position before the string that ends with the quote at `at`. */
function beforeString(bytes: Buffer, at: number, start: number): number {
  let i = at - 1;
  while (i > start && (bytes[i] !== QUOTE || isEscaped(bytes, i))) i -= 1;
  return i - 1;
}

/** Whether an odd number of backslashes is before this position. */
function isEscaped(bytes: Buffer, at: number): boolean {
  let i = at - 1;
  while (bytes[i] === 0x5c) i -= 1;
  return (at - i) % 2 === 0;
}

/** Returns the position before the number, `true`, `false` or `null` that ends at `at`. */
function beforeScalar(bytes: Buffer, at: number, start: number): number {
  let i = at;
  while (i > start) {
    const byte = bytes[i] ?? 0;
    const isPart = (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a) || byte === 0x2e || byte === 0x2d;
    if (!isPart) break;
    i -= 1;
  }
  return i === at ? start : i;
}

const wanted = keys("type", "timestamp");
const found = newFound(wanted);

function walkAll(bytes: Buffer, start: number, end: number, peek: Peek): void {
  findKeys(bytes, start, end, wanted, found);
  const [typeAt = -1, typeEnd = -1, timeAt = -1, timeEnd = -1] = found;
  if (typeAt >= 0 && bytes[typeAt] === QUOTE) {
    peek.typeStart = typeAt + 1;
    peek.typeEnd = typeEnd - 1;
  }
  if (timeAt >= 0 && bytes[timeAt] === QUOTE) {
    peek.timestampStart = timeAt + 1;
    peek.timestampEnd = timeEnd - 1;
  }
}
