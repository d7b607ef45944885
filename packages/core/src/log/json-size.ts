/**
 * The JSON length of a longer string is estimated by its character count: writing it as JSON only to measure it takes
 * as long as sending it.
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
  if (Array.isArray(value)) for (const part of value as unknown[]) sum += longText(part);
  // `Object.values` would make a list of each object, and every event is measured.
  else for (const key in value) sum += longText((value as Record<string, unknown>)[key]);
  return sum;
}

function isLong(value: unknown): value is string {
  return typeof value === "string" && value.length > LONG;
}
