import Anthropic, { APIError } from "@anthropic-ai/sdk";
import { type Model, type ModelAbilities, ModelFailure, parsedOrUndefined } from "@skein/core";
import type { ModelPrice } from "@skein/protocol";
import { checkStream } from "../failures-of-openai.ts";
import { type Answer, senderOf } from "../http-request.ts";
import { eachChunk, sent, watched } from "../stream-request.ts";
import { asFailure } from "./failures.ts";
import { type MessagesRequest, SILENCE_MS, createMessagesModel } from "./messages-model.ts";

export {
  type MessagesModelOptions,
  type MessagesRequest,
  type MessagesSender,
  createMessagesModel,
} from "./messages-model.ts";

export interface AnthropicModelOptions {
  readonly apiKey: string;
  /** Sent as `Authorization: Bearer` instead of the key. */
  readonly authToken?: string | undefined;
  /** The address of another Messages API: the simulator, a gateway. */
  readonly baseUrl?: string;
  /** A connection on which nothing arrives for longer, not even a ping, is given up. */
  readonly silenceMs?: number;
  /** Files that code execution made and that are larger are not fetched. */
  readonly fileLimit?: number;
  /** The built-in simulation answers there, without having been requested by its address. */
  readonly simulated?: boolean;
  /**
   * The name that the provider has for the model. Without it the model is Claude, under the name that each call has for it.
   * Thinking of a model that is not Claude is marked, because Claude rejects it.
   */
  readonly modelName?: string;
  readonly abilities?: Partial<ModelAbilities>;
  readonly price?: ModelPrice | undefined;
  /** Makes the connections. Default: `httpRequest`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

const HINT = "Check the network, and ANTHROPIC_BASE_URL if it is set.";

/** The largest file that is fetched: it is held in memory on its way to where files are kept. */
const FILE_LIMIT = 100 * 1024 * 1024;

/** Claude through the official client, one request per call: retries belong to the loop, which writes them down. */
export function createAnthropicModel({
  apiKey,
  authToken,
  baseUrl,
  silenceMs = SILENCE_MS,
  fileLimit = FILE_LIMIT,
  simulated = false,
  modelName,
  abilities,
  price,
  fetch,
}: AnthropicModelOptions): Model {
  const client = new Anthropic({
    ...(authToken === undefined ? { apiKey, authToken: null } : { apiKey: null, authToken }),
    maxRetries: 0,
    timeout: 2 * silenceMs,
    ...(baseUrl !== undefined && { baseURL: baseUrl }),
    ...(fetch && { fetch }),
  });
  const connect = senderOf(fetch);
  const headOf = createRequestHeads(client);

  async function send({ encoded, headers, signal }: MessagesRequest): Promise<Answer> {
    const { "anthropic-beta": betas = "", ...more } = headers;
    const { url, headers: usual } = await headOf(betas);
    const request = { method: "POST", headers: { ...usual, ...more }, body: encoded(), signal };
    const answer = await sent(url, request, { send: connect, rejected, hint: HINT });
    checkStream(answer, url);
    return answer;
  }

  return {
    ...createMessagesModel({
      send,
      nameOf: (model) => modelName ?? claudeName(model),
      isClaude: modelName === undefined,
      silenceMs,
      simulated,
      price,
      ...(abilities && { abilities }),
    }),
    download: (fileId, signal) =>
      watched({ silenceMs, signal, asFailure }, async (watch) => {
        const options = { signal: watch.signal, headers: { "anthropic-beta": "files-api-2025-04-14" } };
        const { filename, mime_type, size_bytes } = await client.beta.files.retrieveMetadata(fileId, {}, options);
        if (size_bytes > fileLimit) throw fileTooLarge(filename, fileLimit);
        watch.heard();
        const chunks: Uint8Array[] = [];
        let size = 0;
        // The announced size of a file need not be its real size.
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

/** The address and the headers of a request. */
interface RequestHead {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The official client builds the headers of a request, once for each set of betas. The request is sent without the
 * client: its retries, time limits and logs are done by the loop, and would cost a quarter of a call to a local model.
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

/** A rejected request as an error of the official client. */
function rejected({ status, headers }: Answer, text: string): APIError {
  const said = parsedOrUndefined(text);
  // The client reads single headers, and nothing else of them.
  return APIError.generate(status, said, said ? undefined : text, headers as Headers);
}

function fileTooLarge(filename: string, limit: number): ModelFailure {
  return new ModelFailure(
    { code: "file_too_large", message: `"${filename}" is larger than the ${limit} bytes that a file may have.` },
    { retryable: false },
  );
}
