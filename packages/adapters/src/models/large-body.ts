import { isLargeJson, jsonPieces } from "@skein/core";
import type { JsonObject } from "@skein/protocol";

/** A body that is sent in pieces, so that a request with files is not in memory as a whole. */
export interface LargeBody {
  /** The number of bytes of all pieces. */
  readonly length: number;
  readonly pieces: () => Iterable<Uint8Array>;
}

/** A body from these pieces. They are generated twice: to count their bytes, and to send them. */
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

/** A value as the body of a request. */
export function jsonBody(value: JsonObject): string | LargeBody {
  return isLargeJson(value) ? largeBody(() => jsonPieces(value)) : JSON.stringify(value);
}

export function isLargeBody(body: string | Uint8Array | LargeBody): body is LargeBody {
  return typeof body === "object" && "pieces" in body;
}
