import { EVERY_ABILITY, type Model, type ModelAbilities } from "@skein/core";
import type { ModelPrice } from "@skein/protocol";
import { addressBelow, openAiCall } from "../openai-stream.ts";
import { responsesBody } from "./body.ts";
import { createEventReader } from "./events.ts";

export interface OpenAiOptions {
  /** OpenAI's name for the model. */
  readonly modelName: string;
  readonly apiKey: string;
  /** The address before `/responses`. */
  readonly url?: string | undefined;
  readonly abilities?: Partial<ModelAbilities>;
  readonly price?: ModelPrice | undefined;
  /** If nothing arrives for this time, the request is aborted. */
  readonly silenceMs?: number;
  /** Makes the connections. Default: `httpRequest`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/**
 * Creates a model that is called through OpenAI's Responses API. OpenAI stores nothing, so each request has all earlier
 * reasoning from the log.
 */
export function createOpenAiModel(options: OpenAiOptions): Model {
  const { url = "https://api.openai.com/v1", modelName, apiKey, price, silenceMs, fetch } = options;
  const abilities = { ...EVERY_ABILITY, ...options.abilities };
  const address = addressBelow(url, "responses");
  const prepare: Model["prepare"] = (call) => responsesBody(call, { name: modelName, abilities });

  return {
    abilities,
    price,
    prepare,
    call: openAiCall({ address, apiKey, silenceMs, fetch, abilities, prepare, read: createEventReader }),
  };
}
