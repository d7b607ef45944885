import type { Model, ModelAbilities } from "@skein/core";
import type { ModelPrice } from "@skein/protocol";
import { addressBelow, openAiCall } from "../openai-stream.ts";
import { chatBody } from "./body.ts";
import { createChunkReader } from "./chunks.ts";
import { ChatQuirks } from "./quirks.ts";

export { ChatQuirks } from "./quirks.ts";

export interface OpenAiCompatibleOptions {
  /** The address before `/chat/completions`, for example `http://127.0.0.1:11434/v1`. */
  readonly url: string;
  /** The server's name for the model. */
  readonly modelName: string;
  /** The key for the header `Authorization: Bearer`. Local servers often need no key. */
  readonly apiKey?: string | undefined;
  readonly abilities?: Partial<ModelAbilities>;
  readonly quirks?: Partial<ChatQuirks>;
  readonly price?: ModelPrice | undefined;
  /** If nothing arrives for this time, the request is aborted. */
  readonly silenceMs?: number;
  /** Makes the connections. Default: `httpRequest`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

const ABILITIES: ModelAbilities = {
  tools: true,
  parallelTools: true,
  images: false,
  pdf: false,
  thinking: true,
  output: false,
  caching: false,
};

/** Creates a model on a server with the Chat Completions API, such as Ollama, vLLM, llama.cpp, OpenRouter or Groq. */
export function createOpenAiCompatibleModel(options: OpenAiCompatibleOptions): Model {
  const { url, modelName, apiKey, price, silenceMs, fetch } = options;
  const abilities = { ...ABILITIES, ...options.abilities };
  const quirks = ChatQuirks.parse(options.quirks ?? {});
  const address = addressBelow(url, "chat/completions");
  const prepare: Model["prepare"] = (call) => chatBody(call, { name: modelName, abilities, quirks });

  const read: Parameters<typeof openAiCall>[0]["read"] = (answer, { sessionId, turns }) =>
    createChunkReader(answer, (at) => `call_${sessionId}_${turns.length}_${at}`);

  return {
    abilities,
    price,
    prepare,
    call: openAiCall({ address, apiKey, silenceMs, fetch, abilities, prepare, read }),
  };
}
