import { ModelFailure } from "@skein/core";
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

interface Sending {
  readonly rejected: (response: Response, text: string) => unknown;
  readonly hint: string;
  /** Makes the connection. Default: the runtime's own `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** The answer to a request. A request that the provider rejects throws what `rejected` makes of the response. */
export async function sent(
  url: string,
  request: RequestInit,
  { rejected, hint, fetch = globalThis.fetch }: Sending,
): Promise<Response> {
  let response: Response;
  try {
    // A redirect would take the key to another address.
    response = await fetch(url, { ...request, redirect: "manual" });
  } catch (error) {
    if (request.signal?.aborted) throw error;
    throw unreachable(new URL(url).origin, error, hint);
  }
  if (response.ok) return response;
  throw rejected(response, await response.text());
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

/** Hands on each server-sent event of a response: its name, if it has one, and its data. */
export async function eachEvent(
  response: Response,
  watch: Watch,
  take: (data: string, event: string | undefined) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  // The clients' own streams are not used: they nest several iterators, and cost more processor time than the call
  // itself.
  const { feed } = createParser({ onEvent: ({ event, data }) => take(data, event) });
  await eachChunk(response, watch, (chunk) => feed(decoder.decode(chunk, { stream: true })));
}
