/**
 * Reads JSON as bytes, without creating objects.
 *
 * A key such as `"usage":` cannot occur inside a JSON string, because quotes in a string are escaped. So a byte search
 * finds candidates fast. The functions below then read the keys of one object.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

/** A set of keys to look for in one object, made once and used for many lines. */
export interface Keys {
  readonly names: readonly Uint8Array[];
}

export function keys(...names: readonly string[]): Keys {
  return { names: names.map((name) => Buffer.from(name)) };
}

/** Where the values of wanted keys begin and end: two numbers per key in the order of `Keys`, -1 if missing. */
export type Found = Int32Array;

export function newFound(wanted: Keys): Found {
  return new Int32Array(wanted.names.length * 2).fill(-1);
}

/**
 * Works like `findKeys`, but reads the whole object. Returns the position after the object, or -1 if it is no object.
 */
// oxlint-disable-next-line max-params
export function readObject(bytes: Uint8Array, at: number, end: number, wanted: Keys, found: Found): number {
  return walkObject(bytes, at, end, { wanted, found, isAll: true });
}

/**
 * Fills `found` with the values of the wanted keys of the object at `at`. Stops when every key is found. If a key
 * occurs several times before the stop, its last value counts, as in `JSON.parse`. Returns false if the bytes are not
 * an object.
 */
// oxlint-disable-next-line max-params
export function findKeys(bytes: Uint8Array, at: number, end: number, wanted: Keys, found: Found): boolean {
  return walkObject(bytes, at, end, { wanted, found, isAll: false }) >= 0;
}

interface Wish {
  readonly wanted: Keys;
  readonly found: Found;
  readonly isAll: boolean;
}

function walkObject(bytes: Uint8Array, at: number, end: number, { wanted, found, isAll }: Wish): number {
  found.fill(-1);
  let missing = wanted.names.length;
  let i = skipSpace(bytes, at, end);
  if (bytes[i] !== OPEN_BRACE) return -1;
  i = skipSpace(bytes, i + 1, end);
  while (i < end && bytes[i] === QUOTE) {
    const keyEnd = skipString(bytes, i, end);
    if (keyEnd < 0) return -1;
    let value = skipSpace(bytes, keyEnd, end);
    if (bytes[value] !== COLON) return -1;
    value = skipSpace(bytes, value + 1, end);
    const valueEnd = skipValue(bytes, value, end);
    if (valueEnd < 0) return -1;
    const which = indexOfKey(bytes, i + 1, keyEnd - 1, wanted);
    if (which >= 0) {
      if (found[which * 2] === -1) missing -= 1;
      found[which * 2] = value;
      found[which * 2 + 1] = valueEnd;
      if (missing === 0 && !isAll) return valueEnd;
    }
    i = skipSpace(bytes, valueEnd, end);
    if (bytes[i] !== COMMA) break;
    i = skipSpace(bytes, i + 1, end);
  }
  return bytes[i] === CLOSE_BRACE ? i + 1 : -1;
}

/** Returns the position after the string that starts at `at`, or -1 if the string has no end. */
export function skipString(bytes: Uint8Array, at: number, end: number): number {
  let i = at + 1;
  while (i < end) {
    const byte = bytes[i];
    if (byte === QUOTE) return i + 1;
    i += byte === BACKSLASH ? 2 : 1;
  }
  return -1;
}

/**
 * Returns the position after the value that starts at `at`, or -1 if no complete value starts there. Does not check
 * that the text is valid JSON.
 */
export function skipValue(bytes: Uint8Array, at: number, end: number): number {
  const first = bytes[at];
  if (first === QUOTE) return skipString(bytes, at, end);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return skipScalar(bytes, at, end);
  let depth = 0;
  let i = at;
  while (i < end) {
    const byte = bytes[i];
    if (byte === QUOTE) {
      i = skipString(bytes, i, end);
      if (i < 0) return -1;
      continue;
    }
    i += 1;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
      if (depth === 0) return i;
    }
  }
  return -1;
}

/**
 * Returns the position of the value of a key that begins at `at`, or -1 if the text at `at` is a value itself. `length`
 * is the length of the key with its quotes.
 */
export function valueAfterKey(bytes: Uint8Array, at: number, length: number): number {
  const colon = skipSpace(bytes, at + length, bytes.length);
  return bytes[colon] === COLON ? skipSpace(bytes, colon + 1, bytes.length) : -1;
}

/** Returns the position after the key of the value at `at`, or -1 if the value has no key. */
export function endOfKeyBefore(bytes: Uint8Array, at: number): number {
  const colon = beforeSpace(bytes, at - 1, 0);
  return bytes[colon] === COLON ? beforeSpace(bytes, colon - 1, 0) + 1 : -1;
}

/** Returns the last position up to `at` that has no space. Claude Code writes none, but other programs do. */
export function beforeSpace(bytes: Uint8Array, at: number, start: number): number {
  let i = at;
  while (i > start && isSpace(bytes[i])) i -= 1;
  return i;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d;
}

export function skipSpace(bytes: Uint8Array, at: number, end: number): number {
  let i = at;
  while (i < end) {
    const byte = bytes[i];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return i;
    i += 1;
  }
  return i;
}

function skipScalar(bytes: Uint8Array, at: number, end: number): number {
  let i = at;
  while (i < end) {
    const byte = bytes[i];
    if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte === 0x20) break;
    if (byte === 0x0a || byte === 0x0d || byte === 0x09) break;
    i += 1;
  }
  return i === at ? -1 : i;
}

function indexOfKey(bytes: Uint8Array, start: number, end: number, wanted: Keys): number {
  const length = end - start;
  for (let which = 0; which < wanted.names.length; which += 1) {
    const name = wanted.names[which];
    if (name === undefined || name.length !== length) continue;
    let i = 0;
    while (i < length && bytes[start + i] === name[i]) i += 1;
    if (i === length) return which;
  }
  return -1;
}
