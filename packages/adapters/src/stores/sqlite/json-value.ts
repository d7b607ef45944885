import { isLargeJson, jsonPieces } from "@skein/core";
import { jsonText } from "../sql/body.ts";

/** A value as JSON, for a parameter of a statement. */
export interface JsonValue {
  /** A text, or the bytes of a large text. The statement must cast the bytes to a text. */
  readonly value: string | Uint8Array;
  /** Frees the bytes immediately, instead of at the next garbage collection. */
  free(): void;
}

/**
 * Converts a large value to bytes, in pieces. As a string it would be in memory three times: in JavaScript, as UTF-8,
 * and in the statement.
 */
export function jsonValue(data: unknown): JsonValue {
  if (!isLargeJson(data)) return { value: jsonText(data), free() {} };
  let length = 0;
  for (const piece of jsonPieces(data)) length += Buffer.byteLength(piece);
  const bytes = Buffer.from(new ArrayBuffer(length));
  let at = 0;
  for (const piece of jsonPieces(data)) at += bytes.write(piece, at);
  return { value: bytes, free: () => void bytes.buffer.transfer(0) };
}
