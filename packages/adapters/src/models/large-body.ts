import { isLargeJson, jsonPieces } from "@skein/core";
import type { JsonObject } from "@skein/protocol";

/** A body that is sent in pieces. A request with large files is then never in memory as a whole. */
export interface LargeBody {
  /** The size of all pieces together, in bytes. */
  readonly length: number;
  readonly pieces: () => Iterable<Uint8Array>;
}

/** Makes a body from pieces. Generates the pieces twice: to count their bytes, and to send them. */
export function largeBody(parts: () => Iterable<string | Uint8Array>): LargeBody {
  let length = 0;
  for (const part of parts()) length += Buffer.byteLength(part);
  return {
    length,
    *pieces() {
      for (const part of parts()) yield typeof part === "string" ? Buffer.from(part) : part;
    },
  };
}

/** Converts a value to the body of a request. */
export function jsonBody(value: JsonObject): string | LargeBody {
  return isLargeJson(value) ? largeBody(() => jsonPieces(value)) : JSON.stringify(value);
}

export function isLargeBody(body: string | Uint8Array | LargeBody): body is LargeBody {
  return typeof body === "object" && "pieces" in body;
}
