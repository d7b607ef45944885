import Anthropic from "@anthropic-ai/sdk";
import { type Model, type ModelAbilities, ModelFailure } from "@skein/core";
import type { ModelPrice } from "@skein/protocol";
import { checkStream } from "../failures-of-openai.ts";
import { type Answer, senderOf } from "../http-request.ts";
import { eachChunk, sent, watched } from "../stream-request.ts";
import { asFailure, rejectedMessages } from "./failures.ts";
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
  /** The header with the key. Default: what the official client sends, which is `authorization`, as `Bearer KEY`. */
  readonly keyHeader?: "authorization" | "x-api-key" | undefined;
  /** The address of another Messages API: the simulator, a gateway. */
  readonly baseUrl?: string;
  /** A request is aborted if nothing arrives for this time, not even a ping. */
  readonly silenceMs?: number;
  /** The largest file from code execution that is downloaded, in bytes. */
  readonly fileLimit?: number;
  /** Whether the built-in simulation answers instead of the provider. */
  readonly simulated?: boolean;
  /**
   * The provider's name for a model that is not Claude. Without it, the model is Claude, and each call contains the
   * name of the Claude model. The thinking blocks of other models are marked, because Claude rejects them.
   */
  readonly modelName?: string;
  readonly abilities?: Partial<ModelAbilities>;
  readonly price?: ModelPrice | undefined;
  /** Makes the connections. Default: `httpRequest`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

const HINT = "Check the network, and ANTHROPIC_BASE_URL if it is set.";
const HINT_FOR_RECORD = "Check the network and the address of the model.";

/** The largest file that is fetched: it is held in memory until it is stored. */
const FILE_LIMIT = 100 * 1024 * 1024;

/** Claude through the official client. Each call is one request: the loop repeats failed calls and records this. */
export function createAnthropicModel({
  apiKey,
  authToken,
  keyHeader,
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
    ...credentialsOf({ apiKey, authToken, keyHeader }),
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
    const answer = await sent(url, request, {
      send: connect,
      rejected: rejectedMessages,
      hint: modelName === undefined ? HINT : HINT_FOR_RECORD,
    });
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
        // A file may be larger than its announced size.
        await eachChunk(await client.beta.files.download(fileId, {}, options), watch, (chunk) => {
          if ((size += chunk.byteLength) > fileLimit) throw fileTooLarge(filename, fileLimit);
          chunks.push(chunk);
        });
        return { filename, mimeType: mime_type, bytes: new Uint8Array(Buffer.concat(chunks)) };
      }),
  };
}

function credentialsOf({
  apiKey,
  authToken,
  keyHeader,
}: Pick<AnthropicModelOptions, "apiKey" | "authToken" | "keyHeader">) {
  if (authToken !== undefined) return { apiKey: null, authToken };
  if (keyHeader !== "x-api-key") return { apiKey, authToken: null };
  return { apiKey: null, authToken: null, defaultHeaders: { "x-api-key": apiKey } };
}

/** The name that Claude's API expects: without the provider, if the name begins with `anthropic/`. */
function claudeName(name: string): string {
  return name.replace(/^anthropic\//, "");
}

/** The address and the headers of a request. */
interface RequestHead {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The official client builds the headers of a request, once for each set of betas. Skein sends the request without the
 * client, because the loop has its own retries, time limits and logs. Those of the client would take a quarter of the
 * time of a call to a local model.
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

function fileTooLarge(filename: string, limit: number): ModelFailure {
  return new ModelFailure(
    { code: "file_too_large", message: `"${filename}" is larger than the ${limit} bytes that a file may have.` },
    { retryable: false },
  );
}
