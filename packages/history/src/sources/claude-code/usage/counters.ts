/** Reads the counters of a `usage` object, and single values, from bytes. */
import { findKeys, keys, newFound, readObject } from "../../../scan/json-scan.ts";
import { column } from "../../../usage/usage-table.ts";

const usageKeys = keys(
  "input_tokens",
  "output_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
  "cache_creation",
  "server_tool_use",
  "speed",
);
const splitKeys = keys("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens");
const toolKeys = keys("web_search_requests");
const usage = newFound(usageKeys);
const split = newFound(splitKeys);
const tool = newFound(toolKeys);

/**
 * Reads the counters of a call and returns the position after them, or -1. `iterations` and `output_tokens_details`
 * repeat these numbers and are not added.
 */
export function readCounters(bytes: Buffer, start: number, end: number, into: Float64Array): number {
  const behind = readObject(bytes, start, end, usageKeys, usage);
  if (behind < 0) return -1;
  if (at(usage, 4) >= 0) findKeys(bytes, at(usage, 4), at(usage, 4, 1), splitKeys, split);
  else split.fill(-1);
  if (at(usage, 5) >= 0) findKeys(bytes, at(usage, 5), at(usage, 5, 1), toolKeys, tool);
  else tool.fill(-1);
  into[column.input] = number(bytes, usage, 0);
  into[column.output] = number(bytes, usage, 1);
  into[column.cacheWrite] = number(bytes, usage, 2);
  into[column.cacheRead] = number(bytes, usage, 3);
  into[column.cacheWrite5m] = number(bytes, split, 0);
  into[column.cacheWrite1h] = number(bytes, split, 1);
  into[column.searches] = number(bytes, tool, 0);
  into[column.flags] = isText(bytes, usage, 6, "fast") ? 1 : 0;
  return behind;
}

/**
 * Returns the milliseconds of an ISO time. Parsing the most common form by hand is ten times faster than `Date.parse`.
 */
export function timeAt(bytes: Buffer, start: number, end: number): number {
  if (end - start === 24 && bytes[end - 1] === 0x5a && bytes[start + 19] === 0x2e) {
    const two = (at: number): number => (bytes[start + at] ?? 0) * 10 + (bytes[start + at + 1] ?? 0) - 528;
    const day = dayAt(bytes, start);
    if (day !== undefined) {
      const millis = two(20) * 10 + (bytes[start + 22] ?? 0) - 48;
      return day + ((two(11) * 60 + two(14)) * 60 + two(17)) * 1000 + millis;
    }
  }
  return Date.parse(bytes.toString("latin1", start, end)) || 0;
}

let lastDay = "";
let lastDayTime = 0;

/** Returns the time at which a day begins. The last day is kept, because the next line is usually of the same day. */
function dayAt(bytes: Buffer, start: number): number | undefined {
  if (isStringAt(bytes, start, start + 10, lastDay)) return lastDayTime;
  const day = bytes.toString("latin1", start, start + 10);
  const time = Date.parse(`${day}T00:00:00.000Z`);
  if (Number.isNaN(time)) return undefined;
  lastDay = day;
  lastDayTime = time;
  return time;
}

/** Returns the start (edge 0) or the end (edge 1) of the value of a key, or -1 if the key is missing. */
export function at(found: Int32Array, which: number, edge: 0 | 1 = 0): number {
  return found[which * 2 + edge] ?? -1;
}

export function text(bytes: Buffer, found: Int32Array, which: number): string {
  const start = at(found, which);
  if (start < 0 || bytes[start] !== 0x22) return "";
  return stringAt(bytes, start + 1, at(found, which, 1) - 1);
}

/** Returns the content of a JSON string. A line feed becomes a space, because a saved id or name must be one line. */
export function stringAt(bytes: Buffer, start: number, end: number): string {
  const raw = bytes.toString("utf8", start, end);
  if (!raw.includes("\\")) return raw;
  try {
    return (JSON.parse(`"${raw}"`) as string).replaceAll("\n", " ");
  } catch {
    return raw;
  }
}

export function isText(bytes: Buffer, found: Int32Array, which: number, expected: string): boolean {
  const start = at(found, which);
  return start >= 0 && isStringAt(bytes, start + 1, at(found, which, 1) - 1, expected);
}

export function isStringAt(bytes: Buffer, start: number, end: number, expected: string): boolean {
  if (end - start !== expected.length) return false;
  for (let i = 0; i < expected.length; i += 1) if (bytes[start + i] !== expected.charCodeAt(i)) return false;
  return true;
}

function number(bytes: Buffer, found: Int32Array, which: number): number {
  const start = at(found, which);
  const end = at(found, which, 1);
  let value = 0;
  for (let i = start; i >= 0 && i < end; i += 1) {
    const digit = (bytes[i] ?? 0) - 0x30;
    // `Number` parses the rare numbers with a sign, a point or an exponent.
    if (digit < 0 || digit > 9) return Math.max(0, Number(bytes.toString("latin1", start, end)) || 0);
    value = value * 10 + digit;
  }
  return value;
}
