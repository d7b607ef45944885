import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ApiError } from "./api-error.ts";
import { type Shape, createShapeCheck } from "./json-shape.ts";

export interface JsonBodyOptions {
  /** The most bytes. */
  readonly limit: number;
  readonly shape: Shape;
  /** What the caller says that the length is; not a number if it says nothing. */
  readonly announced: number;
  /** Whether the digest of the bytes is wanted. */
  readonly digested: boolean;
}

/** A body as JSON, and the SHA-256 of its bytes if that was wanted. */
export interface JsonBody {
  readonly value: unknown;
  readonly digest: string | undefined;
}

/** A body of that length is taken apart in a turn of its own, after the answers that wait. */
const LARGE = 256 * 1024;

/**
 * Reads a body of JSON. Everything that takes long for a large one is done piece by piece as it arrives: nobody else waits
 * for more than its last step.
 */
export async function readJson(payload: Readable, options: JsonBodyOptions): Promise<JsonBody> {
  const { text, digest } = await readText(payload, options);
  if (text.length > LARGE) await nextTurn();
  // Many clients name the type of a body with every request, also where they send none.
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
    // Bytes that are no UTF-8 would otherwise become other characters, and nobody would know.
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const check = createShapeCheck(shape);
    const hash = digested ? createHash("sha256") : undefined;
    let text = "";
    let length = 0;
    let refusal: ApiError | undefined;

    const take = (chunk?: Buffer): void => {
      const problem = chunk && check(chunk);
      if (problem !== undefined) throw new ApiError("invalid", problem);
      text += decoder.decode(chunk, { stream: chunk !== undefined });
    };
    /** A body that will be refused is read to its end and not kept: a caller that is still sending would not hear the answer. */
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
      length += chunk.length;
      if (length > limit) return over(tooLarge());
      hash?.update(chunk);
      tryToTake(chunk);
    };
    const over = (error?: Error): void => {
      payload.off("data", onData).off("end", onEnd).off("error", onError);
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

/** JSON that fits in one message of a socket. */
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

/** Refuses keys that some code takes for the prototype of an object, and numbers that would come back as null. */
function checkParts(value: unknown): void {
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
    throw new ApiError("invalid", "The body has a number that is too large to be kept.");
  if (typeof value !== "object" || value === null) return;
  if (Object.hasOwn(value, "__proto__")) throw malformed();
  const { constructor } = value as { constructor: unknown };
  if (typeof constructor === "object" && constructor !== null && Object.hasOwn(constructor, "prototype"))
    throw malformed();
  for (const part of Array.isArray(value) ? (value as unknown[]) : Object.values(value)) checkParts(part);
}

function malformed(): ApiError {
  return new ApiError("malformed", "What was sent cannot be read: expected JSON.");
}

function tooLarge(): ApiError {
  return new ApiError("too_large", "The body is over the limit of this route.");
}
