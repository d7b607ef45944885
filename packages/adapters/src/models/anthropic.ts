import Anthropic, { APIConnectionError, APIError, APIUserAbortError } from "@anthropic-ai/sdk";
import { type Model, ModelFailure, type ModelReply } from "@skein/core";
import { ContentBlock, type ModelStreamEvent, Usage } from "@skein/protocol";
import { createParser } from "eventsource-parser";
import { z } from "zod";

export interface AnthropicModelOptions {
  readonly apiKey: string;
  /** Another place that speaks the Messages API: the simulator, a gateway. */
  readonly baseUrl?: string;
  /** A connection on which nothing arrives for longer, not even a ping, is given up. */
  readonly silenceMs?: number;
  /** Files that code execution made and that are larger are not fetched. */
  readonly fileLimit?: number;
}

/** The largest file that is fetched: it is held in memory on its way to where files are kept. */
const FILE_LIMIT = 100 * 1024 * 1024;

/** Settings of an agent that the API takes only in the version before the client's own. */
const SAMPLING = ["temperature", "top_p", "top_k"];
const WITH_SAMPLING = "2023-06-01";

/** Claude through the official client, one request per call: retries belong to the loop, which writes them down. */
export function createAnthropicModel({
  apiKey,
  baseUrl,
  silenceMs = 300_000,
  fileLimit = FILE_LIMIT,
}: AnthropicModelOptions): Model {
  const client = new Anthropic({
    apiKey,
    maxRetries: 0,
    timeout: 2 * silenceMs,
    ...(baseUrl !== undefined && { baseURL: baseUrl }),
  });

  const heads = createRequestHeads(client);

  return {
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
        const { failure, retryable, retryAfterMs } = error;
        throw new ModelFailure(failure, { retryable, retryAfterMs, begun: reply.begun() });
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
    throw request.signal?.aborted ? error : new APIConnectionError({ cause: error as Error });
  }
  if (response.ok) return response;
  const text = await response.text();
  const said = parsedOrUndefined(text);
  throw APIError.generate(response.status, said, said ? undefined : text, response.headers);
}

function parsedOrUndefined(text: string): object | undefined {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
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

/** What the model's API says in the middle of a stream instead of going on with it. */
function errorEvent(data: string): ModelFailure {
  const { error } = JSON.parse(data) as { error?: { type?: string; message?: string } };
  const code = codeOf(error?.message) ?? error?.type ?? "api_error";
  return new ModelFailure(
    { code, message: error?.message ?? "The model's answer ended with an error." },
    { retryable: isRetryable(undefined, code) },
  );
}

interface Block {
  block: ContentBlock;
  json: string;
}

/** Puts a message together from its stream. */
function createReply() {
  const blocks = new Map<number, Block>();
  let message: { model?: string; usage?: Usage; container?: { id?: string } | null } | undefined;
  let stopReason: string | null = null;
  let usage: Usage = { input_tokens: 0, output_tokens: 0 };
  let containerId: string | null = null;
  let ended = false;

  return {
    add(event: ModelStreamEvent): void {
      const index = event["index"] as number;
      switch (event.type) {
        case "message_start":
          message = event["message"] as typeof message;
          usage = { ...(message?.usage ?? usage) };
          containerId = message?.container?.id ?? null;
          return;
        case "content_block_start":
          blocks.set(index, { block: { ...(event["content_block"] as ContentBlock) }, json: "" });
          return;
        case "content_block_delta":
          addDelta(blocks.get(index), event["delta"] as Record<string, unknown>);
          return;
        case "content_block_stop":
          finishBlock(blocks.get(index));
          return;
        case "message_delta": {
          const delta = event["delta"] as { stop_reason?: string | null; container?: { id?: string } | null };
          stopReason = delta.stop_reason ?? stopReason;
          containerId = delta.container?.id ?? containerId;
          usage = { ...usage, ...withoutNulls(event["usage"] as Partial<Usage> | undefined) };
          return;
        }
        case "message_stop":
          ended = true;
      }
    },
    /** The API itself says that it failed: then nothing of it is counted. */
    refused(failure: ModelFailure): ModelFailure {
      message = undefined;
      return failure;
    },
    /** What the API has counted so far, once it has begun to answer. */
    begun(): ModelFailure["begun"] {
      const counted = Usage.safeParse(usage);
      return message && counted.success ? { usage: counted.data, whole: ended } : undefined;
    },
    end(): ModelReply {
      if (!message || !ended)
        throw new ModelFailure(
          { code: "stream_cut", message: "The model's answer broke off before its end." },
          { retryable: true },
        );
      const content = [...blocks.values()].map(({ block }) => block);
      checkReply(content, usage);
      return { content, stopReason, usage, model: message.model ?? "", containerId };
    },
  };
}

/** A call as the API takes it back. */
const Call = z.looseObject({
  id: z.string().regex(/^[a-zA-Z0-9_-]+$/),
  name: z.string().min(1).max(200),
  input: z.record(z.string(), z.unknown()),
});

/** What a model says is an edge: blocks and numbers that make no sense never become facts. */
function checkReply(content: readonly ContentBlock[], usage: Usage): void {
  const blocks = content.map((block) => (block.type === "tool_use" ? Call : ContentBlock).safeParse(block));
  const problems = [...blocks, Usage.safeParse(usage)];
  const issue = problems.find(({ error }) => error)?.error?.issues[0];
  if (!issue) return;
  const place = issue.path.join(".");
  throw new ModelFailure(
    { code: "stream_broken", message: `The model's answer makes no sense. ${place}: ${issue.message}` },
    { retryable: true },
  );
}

function addDelta(target: Block | undefined, delta: Record<string, unknown>): void {
  if (!target) return;
  const { block } = target;
  switch (delta["type"]) {
    case "text_delta":
      block["text"] = ((block["text"] as string | undefined) ?? "") + String(delta["text"]);
      return;
    case "thinking_delta":
      block["thinking"] = ((block["thinking"] as string | undefined) ?? "") + String(delta["thinking"]);
      return;
    case "signature_delta":
      block["signature"] = delta["signature"];
      return;
    case "input_json_delta":
      target.json += String(delta["partial_json"]);
      return;
    case "citations_delta":
      block["citations"] = [...((block["citations"] as unknown[] | null) ?? []), delta["citation"]];
  }
}

function finishBlock(target: Block | undefined): void {
  if (!target || target.json === "") return;
  const input = parsedOrUndefined(target.json);
  // The tool is told by its schema that the input does not fit; the text is kept so that people can see what came. No
  // model takes back an input that is no object.
  const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
  target.block["input"] = isObject ? input : { unparsable: target.json };
}

function withoutNulls(usage: Partial<Usage> | undefined): Partial<Usage> {
  return Object.fromEntries(Object.entries(usage ?? {}).filter(([, value]) => value !== null && value !== undefined));
}

/** What went wrong, as a fact can tell it. Nothing of our own key or headers is in it. */
function asFailure(error: unknown): unknown {
  if (error instanceof ModelFailure || error instanceof APIUserAbortError) return error;
  if (error instanceof APIConnectionError)
    return new ModelFailure(
      { code: "connection_error", message: "The model could not be reached, or the connection broke." },
      { retryable: true },
    );
  if (error instanceof APIError) {
    const body = error.error as { error?: { type?: string; message?: string } } | undefined;
    const { status } = error as { status?: number };
    const code = codeOf(body?.error?.message) ?? body?.error?.type ?? "api_error";
    return new ModelFailure(
      { code, message: body?.error?.message ?? error.message, ...(status !== undefined && { status }) },
      { retryable: isRetryable(status, code), retryAfterMs: retryAfter(error.headers) },
    );
  }
  // A stream that is no stream: the body ended, or was not what it should be.
  if (
    error instanceof Error &&
    (error.name === "TypeError" || error.name === "SyntaxError" || error.name === "AnthropicError")
  )
    return new ModelFailure(
      { code: "stream_broken", message: `The model's answer could not be read: ${error.message}` },
      { retryable: true },
    );
  return error;
}

/** Refusals that the loop can do something about, which the API tells apart by their sentence alone. */
function codeOf(message: string | undefined): string | undefined {
  if (/prompt is too long|context window|context limit/i.test(message ?? "")) return "context_window_exceeded";
  if (/credit balance|usage limits/i.test(message ?? "")) return "billing_error";
  return /container\b.*\b(?:expired|not found|does not exist)/i.test(message ?? "") ? "container_gone" : undefined;
}

function isRetryable(status: number | undefined, code: string): boolean {
  // Asked again without it, the model gets a new one.
  if (code === "container_gone") return true;
  if (status === undefined) return code === "overloaded_error" || code === "api_error" || code === "rate_limit_error";
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

function retryAfter(headers: Headers | undefined): number | undefined {
  const seconds = Number(headers?.get("retry-after"));
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}
