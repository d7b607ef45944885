import {
  type AnswerStream,
  type Model,
  type ModelAbilities,
  type ModelCall,
  ModelFailure,
  type ModelReply,
  askedOutput,
  createAnswerStream,
} from "@skein/core";
import { brokenRequest, checkStream, rejectedRequest } from "./failures-of-openai.ts";
import { senderOf } from "./http-request.ts";
import { jsonBody } from "./large-body.ts";
import { eachEvent, sent, watched } from "./stream-request.ts";

/** An API of OpenAI. APIs differ in address, body and stream. */
interface OpenAiApi {
  /** The complete URL for requests. */
  readonly address: string;
  readonly apiKey: string | undefined;
  readonly silenceMs: number | undefined;
  readonly fetch: typeof globalThis.fetch | undefined;
  readonly abilities: ModelAbilities;
  readonly prepare: Model["prepare"];
  readonly read: (answer: AnswerStream, call: ModelCall) => { add(data: string): void; end(): ModelReply };
}

const SILENCE_MS = 300_000;
const HINT = "Check the network and the address of the model.";

/** Returns a function that makes a request and reads the model's answer from the response. */
export function openAiCall(api: OpenAiApi): Model["call"] {
  const { address, apiKey, silenceMs = SILENCE_MS, abilities, prepare, read } = api;
  const send = senderOf(api.fetch);
  const headers = {
    "content-type": "application/json",
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
  };
  return async (call, onEvent, signal) => {
    const answer = createAnswerStream(call, onEvent, askedOutput(call, abilities)?.tool?.name);
    const reader = read(answer, call);
    try {
      return await watched({ silenceMs, signal, asFailure: brokenRequest }, async (watch) => {
        const body = jsonBody(prepare(call).body);
        const request = { method: "POST", headers, body, signal: watch.signal };
        const response = await sent(address, request, { send, rejected: rejectedRequest, hint: HINT });
        checkStream(response, address);
        await eachEvent(response, watch, (data) => reader.add(data));
        return reader.end();
      });
    } catch (error) {
      throw error instanceof ModelFailure ? answer.failed(error) : error;
    }
  };
}

/** Appends a path to an address, whether or not the address ends with a slash. */
export function addressBelow(url: string, path: string): string {
  return `${url.replace(/\/+$/, "")}/${path}`;
}
