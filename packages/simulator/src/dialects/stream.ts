/** What the streams of all dialects have in common. */
import type { Block, JsonObject } from "../wire.ts";

export interface StreamEvent {
  /** Bytes where the stream is not text. */
  readonly text: string | Buffer;
  /**
   * `start` comes before all content. Deltas are what `chunk…` and `after…Chunks` of a step count. `end` says how the
   * answer ended, or follows that event; an interrupted answer has none. `part` is everything else.
   */
  readonly kind: "start" | "part" | "delta" | "end";
}

/** Characters per delta, unless the step says otherwise. */
export const DEFAULT_CHUNK = 64;

/** A text in pieces of at most this many characters. */
export function pieces(text: string, size: number = DEFAULT_CHUNK): readonly string[] {
  const result: string[] = [];
  const step = Math.max(1, size);
  let start = 0;
  while (start < text.length) {
    let end = Math.min(text.length, start + step);
    // The API never cuts a character in two; JSON would carry the halves as escapes.
    if (isHighSurrogate(text.charCodeAt(end - 1)) && end < text.length) end += 1;
    result.push(text.slice(start, end));
    start = end;
  }
  return result;
}

/** What the model wrote as the input of a call. A script that wants broken JSON gives the input `{ "$raw": text }`. */
export function inputText({ input }: Block): string {
  const raw = (input as JsonObject | undefined)?.$raw;
  return typeof raw === "string" ? raw : JSON.stringify(input ?? {});
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
