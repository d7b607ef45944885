import { KnownError } from "@skein/protocol";
import { createHash } from "node:crypto";

/** A body with more bytes is stored once, under its hash. Its event has only a preview. */
const BODY_LIMIT = 256 * 1024;
/** A preview has the complete value if its JSON has at most this many characters. */
const KEPT_WHOLE = 1024;
/** A preview has the first characters of a longer value, up to this number. */
const KEPT_OF_REST = 200;

/** The hash and the preview of a body that is too large for a row. */
interface Blob {
  readonly hash: Buffer;
  readonly preview: string;
}

/** A body to be stored: its exact text, and its hash and preview if it is too large for a row. */
export interface Body {
  readonly text: string;
  readonly blob: Blob | null;
}

/**
 * Returns the exact text of `JSON.stringify`. It has no NUL and no lone surrogate, because JSON writes them as escapes.
 */
export function bodyOf(data: unknown): Body {
  const text = jsonText(data);
  return { text, blob: blobOf(data, text) };
}

/** Returns the hash and the preview of a large body, or null if the body fits into its row. */
export function blobOf(data: unknown, json: string | Uint8Array): Blob | null {
  const isLarge = json.length > BODY_LIMIT || (json.length * 3 > BODY_LIMIT && Buffer.byteLength(json) > BODY_LIMIT);
  return isLarge ? { hash: createHash("sha256").update(json).digest(), preview: previewOf(data) } : null;
}

export function jsonText(data: unknown): string {
  try {
    return JSON.stringify(data) ?? "null";
  } catch (error) {
    throw new KnownError("invalid", `This cannot be written as JSON: ${(error as Error).message}.`, { cause: error });
  }
}

/** Returns a preview with short values and the beginning of longer values. This is enough to recognise the body. */
function previewOf(data: unknown): string {
  if (typeof data !== "object" || data === null) return JSON.stringify(null);
  // Long strings are cut before they are converted to JSON. The part that remains is still longer than the limit for
  // whole values.
  const cut = (_: string, part: unknown): unknown =>
    typeof part === "string" && part.length > 2 * KEPT_WHOLE ? part.slice(0, 2 * KEPT_WHOLE) : part;
  const shown = Object.entries(data).map(([key, value]) => {
    const text = JSON.stringify(value, cut) ?? "null";
    return [key, text.length <= KEPT_WHOLE ? value : `${text.slice(0, KEPT_OF_REST).toWellFormed()}…`];
  });
  return JSON.stringify(Object.fromEntries(shown));
}

const UNSHOWABLE = /(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g;

/** Replaces NUL and lone surrogates in JSON text, because a text column cannot store them. */
export function showableJson(text: string): string {
  return text.includes("\\u") ? text.replaceAll(UNSHOWABLE, "$1\\ufffd") : text;
}
