/** Reads text and JSON from the bytes of a line. */

/** Parses a line. Returns undefined if the line is not JSON. */
export function parse(bytes: Buffer, start: number, end: number): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(bytes.toString("utf8", start, end)) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}

/** Returns the content of a JSON string as text. */
export function text(bytes: Buffer, start: number, end: number): string {
  const raw = bytes.toString("utf8", start, end);
  if (!raw.includes("\\")) return raw;
  try {
    return JSON.parse(`"${raw}"`) as string;
  } catch {
    return raw;
  }
}

/** Reads ASCII text as Latin-1, because decoding Latin-1 is faster than decoding UTF-8. */
export function latin1(bytes: Buffer, start: number, end: number): string {
  return bytes.toString("latin1", start, end);
}

/** Turns a prompt into a title: one line of at most `longest` characters. */
export function oneLine(prompt: string, longest = 500): string {
  return prompt.slice(0, longest).replaceAll(/\s+/g, " ").trim();
}

/**
 * Compares bytes with an ASCII text, such as two ISO times of the same form. Returns a negative number, 0 or a positive
 * number.
 */
export function compare(bytes: Buffer, start: number, end: number, other: string): number {
  const length = Math.min(end - start, other.length);
  for (let i = 0; i < length; i += 1) {
    const difference = (bytes[start + i] ?? 0) - other.charCodeAt(i);
    if (difference !== 0) return difference;
  }
  return end - start - other.length;
}
