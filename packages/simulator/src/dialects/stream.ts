/** What the streams of all dialects have in common. */
import type { Block, JsonObject } from "../wire.ts";

export interface StreamEvent {
  /** The text of the event, or bytes if the stream is not text. */
  readonly text: string | Buffer;
  /**
   * A `start` event comes before all content. The settings `chunkDelayMs` and `afterChunks` of a step apply to `delta`
   * events. An `end` event reports how the answer ended, or comes after this report. An answer that ends early has no
   * `end` event except an error. All other events are a `part`.
   */
  readonly kind: "start" | "part" | "delta" | "end";
}

/** Characters per delta, unless the step sets another number. */
export const DEFAULT_CHUNK = 64;

/** A text in pieces of at most this many characters. */
export function pieces(text: string, size: number = DEFAULT_CHUNK): readonly string[] {
  const result: string[] = [];
  const step = Math.max(1, size);
  let start = 0;
  while (start < text.length) {
    let end = Math.min(text.length, start + step);
    // The API never splits a character; JSON would encode the two halves as escapes.
    if (isHighSurrogate(text.charCodeAt(end - 1)) && end < text.length) end += 1;
    result.push(text.slice(start, end));
    start = end;
  }
  return result;
}

/** The model's text for the input of a call. For broken JSON, a script sets the input to `{ "$raw": text }`. */
export function inputText({ input }: Block): string {
  const raw = (input as JsonObject | undefined)?.$raw;
  return typeof raw === "string" ? raw : JSON.stringify(input ?? {});
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
