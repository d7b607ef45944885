/** The lines of transcripts as they are in the files: no line is added, merged or left out. */
import { readFileSync } from "node:fs";
import { parseLine } from "../scan/parse-line.ts";

/** Joins the bytes of several transcripts. Between two files, a missing line feed is added. */
export function toLines(paths: readonly string[], redact?: (line: string) => string): Buffer {
  const parts = paths.map((path, at) => {
    const bytes = readFileSync(path);
    const isCut = at < paths.length - 1 && bytes.length > 0 && bytes.at(-1) !== 0x0a;
    const whole = isCut ? Buffer.concat([bytes, Buffer.from("\n")]) : bytes;
    return redact ? Buffer.from(redactLines(whole.toString(), redact)) : whole;
  });
  return Buffer.concat(parts);
}

/** Redacts a valid line value by value, so that the line stays valid JSON. */
function redactLines(text: string, redact: (line: string) => string): string {
  return text
    .split("\n")
    .map((line, at) => {
      let isDamaged = false;
      const [record] = parseLine(Buffer.from(line), { line: at + 1, offset: at }, () => (isDamaged = true));
      return record && !isDamaged ? JSON.stringify(redactStrings(record.value, redact)) : redact(line);
    })
    .join("\n");
}

export function redactStrings<T>(value: T, redact: (text: string) => string): T {
  if (typeof value === "string") return redact(value) as T;
  if (Array.isArray(value)) return value.map((item: unknown) => redactStrings(item, redact)) as T;
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [redact(key), redactStrings(item, redact)]),
  ) as T;
}
