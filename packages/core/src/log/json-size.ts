/**
 * A string with more characters than this is long. Its JSON length is estimated from its characters, because measuring
 * the JSON takes as long as sending it.
 */
export const LONG = 64 * 1024;

/** How long the JSON of a value is, in characters. Escapes in long strings are not counted. */
export function jsonSize(value: unknown): number {
  if (typeof value === "string" && value.length > LONG) return value.length + 2;
  const long = longText(value);
  if (long === 0) return JSON.stringify(value)?.length ?? 0;
  return long + JSON.stringify(value, (_, part: unknown) => (isLong(part) ? "" : part)).length;
}

/** The number of characters in all long strings of a value. */
export function longText(value: unknown): number {
  if (typeof value === "string") return isLong(value) ? value.length : 0;
  if (typeof value !== "object" || value === null) return 0;
  let sum = 0;
  for (const part of Array.isArray(value) ? (value as unknown[]) : Object.values(value))
    // Every event is measured, and most parts of an event are short, so the function calls itself only for objects and
    // long strings.
    if (typeof part === "object" || isLong(part)) sum += longText(part);
  return sum;
}

function isLong(value: unknown): value is string {
  return typeof value === "string" && value.length > LONG;
}
