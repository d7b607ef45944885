import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ApiError } from "./api-error.ts";
import { type Shape, createShapeCheck } from "./json-shape.ts";

export interface JsonBodyOptions {
  /** The largest accepted body, in bytes. */
  readonly limit: number;
  readonly shape: Shape;
  /** The Content-Length; NaN if there is none. */
  readonly announced: number;
  /** Whether to compute the SHA-256 of the bytes. */
  readonly digested: boolean;
}

/** A parsed body, and the SHA-256 of its bytes if it was requested. */
export interface JsonBody {
  readonly value: unknown;
  readonly digest: string | undefined;
}

/** A body above this size is parsed in a separate turn of the event loop, after pending responses. */
export const LARGE = 256 * 1024;

/**
 * Reads a JSON body. Checks each piece when it arrives, so that a large body blocks other requests only while it is
 * parsed. A worker thread would not help, because copying the result takes as long as parsing. A rejected body is read
 * to its end, because some callers read the answer only after sending everything.
 */
export async function readJson(payload: Readable, options: JsonBodyOptions): Promise<JsonBody> {
  const { text, digest } = await readText(payload, options);
  if (text.length > LARGE) await nextTurn();
  // Many clients send a Content-Type even without a body.
  const value = text === "" ? undefined : parsedJson(text);
  if (text.length > LARGE) await nextTurn();
  checkParts(value);
  return { value, digest };
}

function readText(
  payload: Readable,
  { limit, announced, shape, digested }: JsonBodyOptions,
): Promise<{ readonly text: string; readonly digest: string | undefined }> {
  return new Promise((resolve, reject) => {
    if (announced > limit) return reject(tooLarge());
    // Without `fatal`, invalid UTF-8 would silently become other characters.
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const check = createShapeCheck(shape);
    const hash = digested ? createHash("sha256") : undefined;
    // A large body gets one buffer. A growing string would be in memory twice when it is parsed.
    const whole = announced > LARGE ? Buffer.from(new ArrayBuffer(announced)) : undefined;
    let text = "";
    let length = 0;
    let refusal: ApiError | undefined;

    const take = (chunk?: Buffer): void => {
      const problem = chunk && check(chunk);
      if (problem !== undefined) throw new ApiError("invalid", problem);
      if (!whole) text += decoder.decode(chunk, { stream: chunk !== undefined });
      else if (chunk) chunk.copy(whole, length);
      else text = decoder.decode(whole.subarray(0, length));
    };
    /**
     * Takes a piece of the body. A rejected body is read to its end, because some clients read the response only after
     * sending everything.
     */
    const tryToTake = (chunk?: Buffer): void => {
      if (refusal) return;
      try {
        take(chunk);
      } catch (error) {
        refusal = error instanceof ApiError ? error : malformed();
        text = "";
      }
    };
    const onData = (chunk: Buffer): void => {
      if (length + chunk.length > limit) return over(tooLarge());
      hash?.update(chunk);
      tryToTake(chunk);
      length += chunk.length;
    };
    const over = (error?: Error): void => {
      payload.off("data", onData).off("end", onEnd).off("error", onError);
      whole?.buffer.transfer(0);
      if (error) reject(error);
      else resolve({ text, digest: hash?.digest("hex") });
    };
    const onEnd = (): void => {
      tryToTake();
      over(refusal ?? (announced >= 0 && announced !== length ? malformed() : undefined));
    };
    const onError = (): void => over(malformed());
    payload.on("data", onData).on("end", onEnd).on("error", onError);
    payload.resume();
  });
}

/** Parses the JSON of a WebSocket message. */
export function jsonOf(bytes: Buffer, shape: Shape): unknown {
  const problem = createShapeCheck(shape)(bytes);
  if (problem !== undefined) throw new ApiError("invalid", problem);
  const value = parsedJson(bytes.toString());
  checkParts(value);
  return value;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed();
  }
}

/** Rejects keys such as `__proto__`, and infinite numbers, which JSON would write as null. */
function checkParts(value: unknown): void {
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
    throw new ApiError("invalid", "The body has a number that is too large to be stored exactly.");
  if (typeof value !== "object" || value === null) return;
  if (Object.hasOwn(value, "__proto__")) throw malformed();
  const { constructor } = value as { constructor: unknown };
  if (typeof constructor === "object" && constructor !== null && Object.hasOwn(constructor, "prototype"))
    throw malformed();
  for (const part of Array.isArray(value) ? (value as unknown[]) : Object.values(value)) checkParts(part);
}

function malformed(): ApiError {
  return new ApiError("malformed", "The body is not valid JSON in UTF-8.");
}

function tooLarge(): ApiError {
  return new ApiError("too_large", "The body is larger than this route accepts.");
}
