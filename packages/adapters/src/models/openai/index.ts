import { type Model, type ModelAbilities, ModelFailure, createAnswerStream } from "@skein/core";
import type { ModelPrice } from "@skein/protocol";
import { brokenRequest, checkStream, rejectedRequest } from "../failures-of-openai.ts";
import { eachEvent, sent, watched } from "../stream-request.ts";
import { responsesBody } from "./body.ts";
import { createEventReader } from "./events.ts";

export interface OpenAiOptions {
  /** The name that OpenAI has for the model. */
  readonly modelName: string;
  readonly apiKey: string;
  /** The address before `/responses`. */
  readonly url?: string | undefined;
  readonly abilities?: Partial<ModelAbilities>;
  readonly price?: ModelPrice | undefined;
  /** A connection on which nothing arrives for longer is given up. */
  readonly silenceMs?: number;
}

const ABILITIES: ModelAbilities = { tools: true, images: true, pdf: true, thinking: true, output: true };
const HINT = "Check the network and the address of the model.";

/** A model of OpenAI through the Responses API. OpenAI stores nothing of it: reasoning is sent back whole from the log. */
export function createOpenAiModel(options: OpenAiOptions): Model {
  const { url = "https://api.openai.com/v1", modelName, apiKey, price, silenceMs = 300_000 } = options;
  const abilities = { ...ABILITIES, ...options.abilities };
  const address = `${url.replace(/\/+$/, "")}/responses`;
  const headers = { "content-type": "application/json", authorization: `Bearer ${apiKey}` };
  const prepare: Model["prepare"] = (call) => responsesBody(call, { name: modelName, abilities });

  return {
    abilities,
    price,
    prepare,
    async call(call, onEvent, signal) {
      const answer = createAnswerStream(call.model, onEvent);
      const reader = createEventReader(answer);
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
