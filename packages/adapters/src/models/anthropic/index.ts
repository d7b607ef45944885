import Anthropic, { APIError } from "@anthropic-ai/sdk";
import { type Model, ModelFailure } from "@skein/core";
import type { ModelStreamEvent } from "@skein/protocol";
import { createParser } from "eventsource-parser";
import { asFailure, errorEvent, unreachable } from "./failures.ts";
import { createReply } from "./reply.ts";
import { parsedOrUndefined } from "./parsed-or-undefined.ts";

export interface AnthropicModelOptions {
  readonly apiKey: string;
  /** Sent as `Authorization: Bearer` instead of the key. */
  readonly authToken?: string | undefined;
  /** Another place that speaks the Messages API: the simulator, a gateway. */
  readonly baseUrl?: string;
  /** A connection on which nothing arrives for longer, not even a ping, is given up. */
  readonly silenceMs?: number;
  /** Files that code execution made and that are larger are not fetched. */
  readonly fileLimit?: number;
  /** What answers there is a simulation that nobody asked for by its address. */
  readonly simulated?: boolean;
}

/** The largest file that is fetched: it is held in memory on its way to where files are kept. */
const FILE_LIMIT = 100 * 1024 * 1024;

/** Settings of an agent that the API takes only in the version before the client's own. */
const SAMPLING = ["temperature", "top_p", "top_k"];
const WITH_SAMPLING = "2023-06-01";

/** Claude through the official client, one request per call: retries belong to the loop, which writes them down. */
export function createAnthropicModel({
  apiKey,
  authToken,
  baseUrl,
  silenceMs = 300_000,
  fileLimit = FILE_LIMIT,
  simulated = false,
}: AnthropicModelOptions): Model {
  const client = new Anthropic({
    ...(authToken === undefined ? { apiKey, authToken: null } : { apiKey: null, authToken }),
    maxRetries: 0,
    timeout: 2 * silenceMs,
    ...(baseUrl !== undefined && { baseURL: baseUrl }),
  });

  const heads = createRequestHeads(client);

  return {
    simulated,
    async call({ body, betas, encoded }, onEvent, signal) {
      const reply = createReply();
      try {
        return await watched(silenceMs, signal, async (watch) => {
          const { url, headers: usual } = await heads(betas.join(","));
          const headers = SAMPLING.some((name) => name in body)
            ? { ...usual, "anthropic-version": WITH_SAMPLING }
            : usual;
          const text = encoded?.() ?? JSON.stringify({ ...body, stream: true });
          const response = await sent(url, { method: "POST", headers, body: text, signal: watch.signal });
          const decoder = new TextDecoder();
          // Not the client's own stream: it is three iterators deep, and took longer than the calls it reads.
          const { feed } = createParser({
            onEvent({ event, data }) {
              if (event === "error") throw reply.refused(errorEvent(data));
              if (event === undefined || event === "ping") return;
              const said = JSON.parse(data) as ModelStreamEvent;
              reply.add(said);
              onEvent(said);
            },
          });
          await eachChunk(response, watch, (chunk) => feed(decoder.decode(chunk, { stream: true })));
          return reply.end();
        });
      } catch (error) {
        if (!(error instanceof ModelFailure)) throw error;
        const { failure, retryable, retryAfterMs, mostRetries } = error;
        throw new ModelFailure(failure, { retryable, retryAfterMs, mostRetries, begun: reply.begun() });
      }
    },
    download: (fileId, signal) =>
      watched(silenceMs, signal, async (watch) => {
        const options = { signal: watch.signal, headers: { "anthropic-beta": "files-api-2025-04-14" } };
        const { filename, mime_type, size_bytes } = await client.beta.files.retrieveMetadata(fileId, {}, options);
        if (size_bytes > fileLimit) throw fileTooLarge(filename, fileLimit);
        watch.heard();
        const chunks: Uint8Array[] = [];
        let size = 0;
        // What is said about a file need not be what comes.
        await eachChunk(await client.beta.files.download(fileId, {}, options), watch, (chunk) => {
          if ((size += chunk.byteLength) > fileLimit) throw fileTooLarge(filename, fileLimit);
          chunks.push(chunk);
        });
        return { filename, mimeType: mime_type, bytes: new Uint8Array(Buffer.concat(chunks)) };
      }),
  };
}

/** Where a request goes and what stands before its body. */
interface RequestHead {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * What a request looks like is for the official client to say, once for each set of betas. It is sent without it: what it
 * does besides (retries, time limits, logs) the loop does itself, and it would cost a quarter of a call to a model at hand.
 */
function createRequestHeads(client: Anthropic): (betas: string) => Promise<RequestHead> {
  const known = new Map<string, Promise<RequestHead>>();

  async function build(betas: string): Promise<RequestHead> {
    const headers = { "content-type": "application/json", ...(betas !== "" && { "anthropic-beta": betas }) };
    const { url, req } = await client.buildRequest({ method: "post", path: "/v1/messages", body: "{}", headers });
    return { url, headers: Object.fromEntries(req.headers) };
  }

  return (betas) => {
    const head = known.get(betas) ?? build(betas);
    if (!known.has(betas)) known.set(betas, head);
    return head;
  };
}

/** The answer to a request; an error in the words of the official client if there is none, or one that refuses. */
async function sent(url: string, request: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, request);
  } catch (error) {
    if (request.signal?.aborted) throw error;
    throw unreachable(new URL(url).origin, error);
  }
  if (response.ok) return response;
  const text = await response.text();
  const said = parsedOrUndefined(text);
  throw APIError.generate(response.status, said, said ? undefined : text, response.headers);
}

function fileTooLarge(filename: string, limit: number): ModelFailure {
  return new ModelFailure(
    { code: "file_too_large", message: `"${filename}" is larger than the ${limit} bytes that a file may have.` },
    { retryable: false },
  );
}

/** Ends a request on which nothing has arrived for so long. */
interface Watch {
  readonly signal: AbortSignal;
  heard(): void;
}

async function watched<Result>(
  silenceMs: number,
  signal: AbortSignal,
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
        { code: "silence", message: `The model's answer did not go on for ${silenceMs / 1000} seconds.` },
        { retryable: true },
      );
    throw asFailure(error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

/** Hands on the body of a response piece by piece. Whoever throws ends the request. */
async function eachChunk({ body }: Response, watch: Watch, take: (chunk: Uint8Array) => void): Promise<void> {
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
