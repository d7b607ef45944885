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
  /** A token for the header `Authorization: Bearer`. Replaces `apiKey`. */
  readonly authToken?: string | undefined;
  /** The header for `apiKey`. Default: the official client's header, which is `authorization` with `Bearer KEY`. */
  readonly keyHeader?: "authorization" | "x-api-key" | undefined;
  /** The address of another Messages API, such as the simulator or a gateway. */
  readonly baseUrl?: string;
  /** If nothing arrives for this time, not even a ping, the request is aborted. */
  readonly silenceMs?: number;
  /** The size limit in bytes for downloads of files from code execution. */
  readonly fileLimit?: number;
  /** Whether the built-in simulation answers instead of the provider. */
  readonly simulated?: boolean;
  /**
   * The provider's name for a model that is not Claude. Without this name, the model is Claude, and calls use its name
   * in the catalog. Thinking of other models is marked, because Claude rejects it.
   */
  readonly modelName?: string;
  readonly abilities?: Partial<ModelAbilities>;
  readonly price?: ModelPrice | undefined;
  /** Makes the connections. Default: `httpRequest`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

const HINT = "Check the network, and ANTHROPIC_BASE_URL if it is set.";
const HINT_FOR_RECORD = "Check the network and the address of the model.";

/** The default of `fileLimit`. The limit is small because a file is in memory until it is stored. */
const FILE_LIMIT = 100 * 1024 * 1024;

/**
 * Creates a Claude model with the official client. A model call is one request: the loop repeats failed requests and
 * records the retries.
 */
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

/** Returns the name that Claude's API expects: without the prefix `anthropic/`. */
function claudeName(name: string): string {
  return name.replace(/^anthropic\//, "");
}

/** The address and the headers of a request. */
interface RequestHead {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Lets the official client build the headers of a request, once for each set of betas. Skein sends the request without
 * the client, because the loop has retries, time limits and logs. The client's retries, time limits and logs took a
 * quarter of the time of a call to a local model.
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
