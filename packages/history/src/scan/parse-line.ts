import { skipValue } from "./json-scan.ts";

/** What is wrong with a line. The line number starts at 1. */
export interface Damage {
  readonly line: number;
  readonly kind: DamageKind;
  readonly message: string;
  /** The whole line as text; missing if it was not read. */
  readonly text?: string;
}

type DamageKind =
  | "not-json"
  | "torn"
  | "nul-bytes"
  | "glued"
  | "invalid-utf8"
  | "not-an-object"
  | "too-long"
  | "unknown-format"
  | "unreadable";

/** A JSON object from a line of a file, with its position. */
export interface ParsedLine {
  readonly line: number;
  /** Where the line starts in the file. Two records that are glued into one line have the same `line` and `offset`. */
  readonly offset: number;
  readonly length: number;
  readonly value: Readonly<Record<string, unknown>>;
}

export interface LinePlace {
  readonly line: number;
  readonly offset: number;
  /** Whether this is the last line of a file and has no line feed: a process may still be writing it. */
  readonly unterminated?: boolean;
}

/**
 * Returns the records of one line, and reports damage. A whole record after a cut record is still found, because a
 * broken write must not hide the next write.
 */
export function parseLine(bytes: Buffer, place: LinePlace, onDamage: (damage: Damage) => void): readonly ParsedLine[] {
  const { start, end } = withoutByteOrderMark(bytes, place);
  if (isBlank(bytes, start, end)) return [];
  const report = (kind: DamageKind, message: string): void =>
    onDamage({ line: place.line, kind, message, text: bytes.toString("utf8", start, end) });
  const cut = withoutNulls(bytes, start, end);
  if (cut.nulls > 0) report("nul-bytes", `${cut.nulls} NUL bytes`);
  if (cut.end === cut.start) return [];
  const text = cut.bytes.toString("utf8", cut.start, cut.end);
  const found = (value: Readonly<Record<string, unknown>>): ParsedLine => ({
    line: place.line,
    offset: place.offset,
    length: bytes.length,
    value,
  });
  const whole = tryParse(text);
  if (whole.ok) {
    // A valid text may contain a replacement character, so the bytes are checked.
    if (text.includes("\u{FFFD}") && !isUtf8(cut.bytes.subarray(cut.start, cut.end))) {
      report("invalid-utf8", "bytes that are not UTF-8 were replaced");
    }
    if (isObject(whole.value)) return [found(whole.value)];
    report("not-an-object", "the line is JSON but not an object");
    return [];
  }
  const records = splitGlued(cut.bytes.subarray(cut.start, cut.end));
  if (records.length > 0) report("glued", `${records.length} whole records in a line that is not a record`);
  else report(place.unterminated ? "torn" : "not-json", whole.message);
  return records.map(found);
}

/** Formats a line like Claude Code: compact JSON and a line feed. */
export function formatLine(value: Readonly<Record<string, unknown>>): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

interface Cut {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly nulls: number;
}

function withoutByteOrderMark(bytes: Buffer, place: LinePlace): { start: number; end: number } {
  const marked = place.offset === 0 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return { start: marked ? 3 : 0, end: bytes.length };
}

function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i += 1) {
    const byte = bytes[i];
    if (byte !== 0x20 && byte !== 0x0d && byte !== 0x09) return false;
  }
  return true;
}

/**
 * Cuts out NUL bytes, which are not valid in JSON. After a crash, parts of a file that were not written may contain NUL
 * bytes.
 */
function withoutNulls(bytes: Buffer, start: number, end: number): Cut {
  const first = bytes.indexOf(0, start);
  if (first < 0 || first >= end) return { bytes, start, end, nulls: 0 };
  const kept = Buffer.from(bytes.subarray(start, end).filter((byte) => byte !== 0));
  return { bytes: kept, start: 0, end: kept.length, nulls: end - start - kept.length };
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

type Parsed = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly message: string };

function tryParse(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch (error) {
    return { ok: false, message: withoutSnippet(error instanceof Error ? error.message : String(error)) };
  }
}

/** Removes the quoted text from V8's message, because the text may be secret or contain control characters. */
function withoutSnippet(message: string): string {
  const position = /position \d+/.exec(message)?.[0];
  if (message.startsWith("Unexpected end")) return "the line ends in the middle of a value";
  return position ? `not JSON at ${position}` : "not JSON";
}

const recordStart = Buffer.from('{"');
/** Limits the time for a long line with many braces. */
const maxWalkedBytes = 64 * 1024 * 1024;

/** Finds the whole records in a broken line. A piece of a cut record may come before them. */
function splitGlued(bytes: Buffer): Readonly<Record<string, unknown>>[] {
  const records: Readonly<Record<string, unknown>>[] = [];
  let at = bytes.indexOf(recordStart);
  for (let walked = 0; at >= 0 && walked < maxWalkedBytes;) {
    const end = skipValue(bytes, at, bytes.length);
    walked += (end < 0 ? bytes.length : end) - at;
    const parsed = end < 0 ? undefined : tryParse(bytes.toString("utf8", at, end));
    if (parsed?.ok && isObject(parsed.value) && looksLikeRecord(parsed.value)) {
      records.push(parsed.value);
      at = bytes.indexOf(recordStart, end);
    } else at = bytes.indexOf(recordStart, at + 1);
  }
  return records;
}

/** Distinguishes a record from an object inside a cut record, such as a message or a tool's input. */
function looksLikeRecord(value: Readonly<Record<string, unknown>>): boolean {
  if (typeof value["type"] !== "string") return typeof value["display"] === "string";
  return ["uuid", "sessionId", "leafUuid", "messageId", "timestamp", "customTitle"].some((key) => key in value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
