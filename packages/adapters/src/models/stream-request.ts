import { ModelFailure, isLargeJson, jsonPieces } from "@skein/core";
import type { JsonObject } from "@skein/protocol";
import { createParser } from "eventsource-parser";

/** Ends a request if nothing arrives for this long. */
export interface Watch {
  readonly signal: AbortSignal;
  heard(): void;
}

/** Makes a request that ends with its signal, and when nothing arrives for too long. `asFailure` translates errors. */
export async function watched<Result>(
  { silenceMs, signal, asFailure }: { silenceMs: number; signal: AbortSignal; asFailure: (error: unknown) => unknown },
  request: (watch: Watch) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), silenceMs).unref();
  const abort = (): void => stop.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  try {
    return await request({ signal: stop.signal, heard: () => void timer.refresh() });
  } catch (error) {
    if (stop.signal.aborted && !signal.aborted)
      throw new ModelFailure(
        { code: "silence", message: `The model sent nothing for ${silenceMs / 1000} seconds.` },
        { retryable: true },
      );
    throw asFailure(error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

/** A body that is sent in pieces, so that a request with files is not in memory as a whole. */
export interface LargeBody {
  /** The number of bytes of all pieces. */
  readonly length: number;
  readonly pieces: () => Iterable<Uint8Array>;
}

/** A body of these pieces. They are made twice: to count their bytes, and while they are sent. */
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

interface ModelRequest extends Omit<RequestInit, "body"> {
  readonly body?: RequestInit["body"] | LargeBody;
}

interface Sending {
  readonly rejected: (response: Response, text: string) => unknown;
  readonly hint: string;
  /** Makes the connection. Default: the runtime's own `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** The answer to a request. A request that the provider rejects throws what `rejected` makes of the response. */
export async function sent(
  url: string,
  request: ModelRequest,
  { rejected, hint, fetch = globalThis.fetch }: Sending,
): Promise<Response> {
  let response: Response;
  try {
    // A redirect would take the key to another address.
    response = await fetch(url, { ...inPieces(request), redirect: "manual" });
  } catch (error) {
    if (request.signal?.aborted) throw error;
    throw unreachable(new URL(url).origin, error, hint);
  }
  if (response.ok) return response;
  throw rejected(response, await beginningOf(response));
}

/** The most bytes that are read of a response that is not a stream of events. */
const MOST_TEXT = 1024 * 1024;

/** The beginning of a response's text. Whoever runs the address of a model may send an endless response: the rest is not read. */
export async function beginningOf({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  if (!reader) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    size += value.length;
    if (size < MOST_TEXT) continue;
    await reader.cancel().catch(() => {});
    break;
  }
  return Buffer.concat(chunks).subarray(0, MOST_TEXT).toString();
}

function inPieces({ body, ...request }: ModelRequest): RequestInit & { readonly duplex?: "half" } {
  if (!body || !(typeof body === "object" && "pieces" in body)) return { ...request, body: body ?? null };
  const headers = new Headers(request.headers);
  headers.set("content-length", String(body.length));
  return { ...request, headers, body: ReadableStream.from(body.pieces()), duplex: "half" };
}

/** Codes of addresses where no server listens, or whose name does not exist: usually the address is wrong. */
const NOBODY_THERE = new Set(["ECONNREFUSED", "ENOTFOUND"]);
const FEW_RETRIES = 2;

/** A request to which there was no answer at all. */
function unreachable(origin: string, error: unknown, hint: string): ModelFailure {
  const { cause } = error as { readonly cause?: { readonly code?: unknown; readonly message?: string } };
  const why = typeof cause?.code === "string" ? cause.code : (cause?.message ?? "no connection");
  return new ModelFailure(
    { code: "connection_error", message: `The model could not be reached at ${origin} (${why}). ${hint}` },
    { retryable: true, ...(NOBODY_THERE.has(why) && { mostRetries: FEW_RETRIES }) },
  );
}

/** Passes the body of a response on in chunks. An error of the callback ends the request. */
export async function eachChunk({ body }: Response, watch: Watch, take: (chunk: Uint8Array) => void): Promise<void> {
  const reader = body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      watch.heard();
      if (done) return;
      take(value);
    }
  } catch (error) {
    await reader.cancel().catch(() => {});
    throw error;
  }
}

/** The most characters of one event: as many as an answer may have. */
const MOST_EVENT = 32_000_000;

/** Hands on each server-sent event of a response: its name, if it has one, and its data. */
export async function eachEvent(
  response: Response,
  watch: Watch,
  take: (data: string, event: string | undefined) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  // The clients' own streams are not used: they nest several iterators, and cost more processor time than the call
  // itself.
  const { feed } = createParser({
    onEvent: ({ event, data }) => take(data, event),
    maxBufferSize: MOST_EVENT,
    onError({ type }) {
      if (type !== "max-buffer-size-exceeded") return;
      const message = "An event of the model's stream has more than 32 million characters, so the stream was ended.";
      throw new ModelFailure({ code: "stream_broken", message }, { retryable: false });
    },
  });
  await eachChunk(response, watch, (chunk) => feed(decoder.decode(chunk, { stream: true })));
}
