import { type Model, type ModelAbilities, ModelFailure, createAnswerStream } from "@skein/core";
import type { ModelPrice } from "@skein/protocol";
import { brokenRequest, checkStream, rejectedRequest } from "../failures-of-openai.ts";
import { eachEvent, sent, watched } from "../stream-request.ts";
import { chatBody } from "./body.ts";
import { createChunkReader } from "./chunks.ts";
import { ChatQuirks } from "./quirks.ts";

export { ChatQuirks } from "./quirks.ts";

export interface OpenAiCompatibleOptions {
  /** The address before `/chat/completions`, for example `http://127.0.0.1:11434/v1`. */
  readonly url: string;
  /** The name that the server has for the model. */
  readonly modelName: string;
  /** Sent as `Authorization: Bearer`; local servers often need none. */
  readonly apiKey?: string | undefined;
  readonly abilities?: Partial<ModelAbilities>;
  readonly quirks?: Partial<ChatQuirks>;
  readonly price?: ModelPrice | undefined;
  /** A connection on which nothing arrives for longer is given up. */
  readonly silenceMs?: number;
}

const ABILITIES: ModelAbilities = { tools: true, images: false, pdf: false, thinking: true, output: false };
const HINT = "Check the network and the address of the model.";

/** A model on a server that speaks Chat Completions: Ollama, vLLM, llama.cpp, LM Studio, OpenRouter, DeepSeek, Groq … */
export function createOpenAiCompatibleModel(options: OpenAiCompatibleOptions): Model {
  const { url, modelName, apiKey, price, silenceMs = 300_000 } = options;
  const abilities = { ...ABILITIES, ...options.abilities };
  const quirks = ChatQuirks.parse(options.quirks ?? {});
  const address = `${url.replace(/\/+$/, "")}/chat/completions`;
  const headers = {
    "content-type": "application/json",
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
  };
  const prepare: Model["prepare"] = (call) => chatBody(call, { name: modelName, abilities, quirks });

  return {
    abilities,
    price,
    prepare,
    async call(call, onEvent, signal) {
      const answer = createAnswerStream(call.model, onEvent);
      const reader = createChunkReader(answer, (at) => `call_${call.sessionId}_${call.turns.length}_${at}`);
      try {
        return await watched({ silenceMs, signal, asFailure: brokenRequest }, async (watch) => {
          const body = JSON.stringify(prepare(call).body);
          const request = { method: "POST", headers, body, signal: watch.signal };
          const response = await sent(address, request, { rejected: rejectedRequest, hint: HINT });
          checkStream(response, address);
          await eachEvent(response, watch, (data) => reader.add(data));
          return reader.end();
        });
      } catch (error) {
        throw error instanceof ModelFailure ? answer.failed(error) : error;
      }
    },
  };
}
