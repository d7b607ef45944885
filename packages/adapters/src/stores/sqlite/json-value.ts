import { isLargeJson, jsonPieces } from "@skein/core";
import { jsonText } from "../sql/body.ts";

/** The JSON of a value for a statement. */
export interface JsonValue {
  /** A text, or the bytes of a large text: the statement has to cast them. */
  readonly value: string | Uint8Array;
  /** Frees the bytes immediately, instead of at the next garbage collection. */
  free(): void;
}

/**
 * A large value is written as bytes, in pieces. As a string it would be in memory three times: in JavaScript, as UTF-8,
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
