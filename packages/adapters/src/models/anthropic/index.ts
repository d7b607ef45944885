import Anthropic, { APIError } from "@anthropic-ai/sdk";
import {
  type Model,
  type ModelAbilities,
  type ModelCall,
  ModelFailure,
  createAnswerTeller,
  createReply,
  parsedOrUndefined,
} from "@skein/core";
import type { ModelPrice, ModelStreamEvent } from "@skein/protocol";
import { eachChunk, eachEvent, sent, watched } from "../stream-request.ts";
import { checkStream } from "../failures-of-openai.ts";
import { messagesBody } from "./body.ts";
import { asFailure, errorEvent } from "./failures.ts";

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
  /**
   * The name that the provider has for the model. Without it the model is Claude, under the name that each call has for it.
   * Thinking of a model that is not Claude is marked, because Claude rejects it.
   */
  readonly modelName?: string;
  readonly abilities?: Partial<ModelAbilities>;
  readonly price?: ModelPrice | undefined;
  /** Who makes the connections; the runtime unless told. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

const CLAUDE: ModelAbilities = { tools: true, images: true, pdf: true, thinking: true, output: true };
const HINT = "Check the network, and ANTHROPIC_BASE_URL if it is set.";

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
  modelName,
  abilities: given,
  price,
  fetch,
}: AnthropicModelOptions): Model {
  const abilities = { ...CLAUDE, ...given };
  const prepared = (call: ModelCall) =>
    messagesBody(call, { name: modelName ?? claudeName(call.model), isClaude: modelName === undefined, abilities });
  const client = new Anthropic({
    ...(authToken === undefined ? { apiKey, authToken: null } : { apiKey: null, authToken }),
    maxRetries: 0,
    timeout: 2 * silenceMs,
    ...(baseUrl !== undefined && { baseURL: baseUrl }),
    ...(fetch && { fetch }),
  });

  const heads = createRequestHeads(client);

  return {
    simulated,
    abilities,
    price,
    prepare(call) {
      const { api, body, leftOut } = prepared(call);
      return { api, body, leftOut };
    },
    async call(call, onEvent, signal) {
      const { body, encoded, answerTool } = prepared(call);
      const teller = createAnswerTeller(answerTool);
      const reply = createReply(modelName === undefined ? undefined : call.model);
      try {
        return await watched({ silenceMs, signal, asFailure }, async (watch) => {
          const { url, headers: usual } = await heads(call.betas.join(","));
          const headers = SAMPLING.some((name) => name in body)
            ? { ...usual, "anthropic-version": WITH_SAMPLING }
            : usual;
          const request = { method: "POST", headers, body: encoded(), signal: watch.signal };
          const response = await sent(url, request, { rejected, hint: HINT, fetch });
          checkStream(response, url);
          await eachEvent(response, watch, (data, event) => {
            if (event === "error") {
              reply.forget();
              throw errorEvent(data);
            }
            if (event === undefined || event === "ping") return;
            for (const told of teller.tell(JSON.parse(data) as ModelStreamEvent)) {
              reply.add(told);
              onEvent(told);
            }
          });
          return reply.end();
        });
      } catch (error) {
        if (!(error instanceof ModelFailure)) throw error;
        const { failure, retryable, retryAfterMs, mostRetries } = error;
        throw new ModelFailure(failure, { retryable, retryAfterMs, mostRetries, begun: reply.begun() });
      }
    },
    download: (fileId, signal) =>
      watched({ silenceMs, signal, asFailure }, async (watch) => {
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

/** Bare names are Claude's, and so are those that name the provider. */
function claudeName(name: string): string {
  return name.replace(/^anthropic\//, "");
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

/** A rejected request in the words of the official client. */
function rejected({ status, headers }: Response, text: string): APIError {
  const said = parsedOrUndefined(text);
  return APIError.generate(status, said, said ? undefined : text, headers);
}

function fileTooLarge(filename: string, limit: number): ModelFailure {
  return new ModelFailure(
    { code: "file_too_large", message: `"${filename}" is larger than the ${limit} bytes that a file may have.` },
    { retryable: false },
  );
}
