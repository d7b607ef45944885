import { ModelFailure } from "@skein/core";
import { createParser } from "eventsource-parser";
import { notStreamed } from "./failures-of-openai.ts";
import type { Answer } from "./http-request.ts";

/** Measures the silence of a request. `heard` begins the measurement again. */
export interface Watch {
  readonly signal: AbortSignal;
  heard(): void;
}

/** Makes a request. Ends it if `signal` aborts, or if nothing arrives for `silenceMs`. `asFailure` converts errors. */
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
    const isSilent = stop.signal.aborted && !signal.aborted;
    // This closes the connection, even if the response was not read to its end.
    stop.abort();
    if (isSilent)
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

interface Sending<Asked, Got> {
  /** Makes the request, with `httpRequest` or a `fetch`. */
  readonly send: (url: string, request: Asked & { readonly redirect: "manual" }) => Promise<Got>;
  readonly rejected: (answer: Got, text: string) => unknown;
  readonly hint: string;
}

/**
 * Sends a request and returns the response. If the provider rejects the request, throws the error that `rejected`
 * returns.
 */
export async function sent<Asked extends { readonly signal?: AbortSignal | null | undefined }, Got extends Answer>(
  url: string,
  request: Asked,
  { send, rejected, hint }: Sending<Asked, Got>,
): Promise<Got> {
  let answer: Got;
  try {
    // If a redirect were followed, the API key would be sent to another address.
    answer = await send(url, { ...request, redirect: "manual" });
  } catch (error) {
    if (request.signal?.aborted) throw error;
    throw unreachable(new URL(url).origin, error, hint);
  }
  if (answer.ok) return answer;
  throw rejected(answer, await beginningOf(answer));
}

/** The largest number of bytes that are read of a response without events. */
const MOST_TEXT = 1024 * 1024;

/** Reads the beginning of a response's text. Ignores the rest, because the response may be endless. */
export async function beginningOf({ body }: Pick<Answer, "body">): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= MOST_TEXT) break;
  }
  return Buffer.concat(chunks).subarray(0, MOST_TEXT).toString();
}

/** Error codes for an address without a server, and for a name that does not exist. The address is probably wrong. */
const NOBODY_THERE = new Set(["ECONNREFUSED", "ENOTFOUND"]);
const FEW_RETRIES = 2;

/** Returns the failure for a request that got no response. */
function unreachable(origin: string, error: unknown, hint: string): ModelFailure {
  const { cause } = error as { readonly cause?: { readonly code?: unknown; readonly message?: string } };
  const why = typeof cause?.code === "string" ? cause.code : (cause?.message ?? "no connection");
  return new ModelFailure(
    { code: "connection_error", message: `The model could not be reached at ${origin} (${why}). ${hint}` },
    { retryable: true, ...(NOBODY_THERE.has(why) && { mostRetries: FEW_RETRIES }) },
  );
}

/** Passes on a response's body in chunks. If `take` throws, the request ends. */
export async function eachChunk(
  { body }: Pick<Answer, "body">,
  watch: Watch,
  take: (chunk: Uint8Array) => void,
): Promise<void> {
  for await (const chunk of body ?? []) {
    watch.heard();
    take(chunk);
  }
}

/** The largest event, in characters. The whole answer of a model has the same limit. */
const MOST_EVENT = 32_000_000;

/** Matches a text that begins with a line of an event stream. */
const BEGINS_AS_EVENT = /^\s*(?:data|event|id|retry)?:/;

/** Passes on the server-sent events of a response, with their data and name. */
export async function eachEvent(
  answer: Pick<Answer, "body">,
  watch: Watch,
  take: (data: string, event: string | undefined) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let hasEvents = false;
  let before = "";
  // The streams of the official clients are not used. Their nested iterators need more processor time than the rest of
  // the model call.
  const { feed } = createParser({
    onEvent({ event, data }) {
      hasEvents = true;
      take(data, event);
    },
    maxBufferSize: MOST_EVENT,
    onError({ type }) {
      if (type !== "max-buffer-size-exceeded") return;
      const message = "An event of the model's stream has more than 32 million characters, so the stream was ended.";
      throw new ModelFailure({ code: "stream_broken", message }, { retryable: false });
    },
  });
  await eachChunk(answer, watch, (chunk) => {
    const text = decoder.decode(chunk, { stream: true });
    if (!hasEvents && before.length < MOST_TEXT) before += text;
    feed(text);
  });
  if (!hasEvents && before.trim() !== "" && !BEGINS_AS_EVENT.test(before)) throw notStreamed(before);
}
