import type { LanguageModelV4 } from "@ai-sdk/provider";
import { type Model, type ModelAbilities, ModelFailure, askedOutput, createAnswerStream } from "@skein/core";
import type { JsonObject, ModelPrice } from "@skein/protocol";
import { watched } from "../stream-request.ts";
import { callOptions } from "./call-options.ts";
import { thrownFailure } from "./failures.ts";
import { createPartReader } from "./part-reader.ts";

/**
 * A model object of the AI SDK's provider interface, version 4 (`LanguageModelV4`): for example
 * `google("gemini-3-pro")`. Only what identifies one is named here, so that the types of Skein do not need the AI SDK.
 */
export interface AiSdkModelObject {
  readonly specificationVersion: "v4";
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<unknown>;
}

export interface AiSdkOptions {
  readonly model: AiSdkModelObject;
  readonly abilities?: Partial<ModelAbilities>;
  readonly price?: ModelPrice | undefined;
  /** A stream on which nothing arrives for longer is given up. */
  readonly silenceMs?: number;
}

const ABILITIES: ModelAbilities = {
  tools: true,
  parallelTools: true,
  images: true,
  pdf: true,
  thinking: true,
  output: true,
  caching: false,
};
const SILENCE_MS = 300_000;

/**
 * Any model of the AI SDK's providers. One request for each call: retries, time limits, tools and the log are Skein's. The provider's
 * package comes with the object, so that this adapter needs none.
 */
export function createAiSdkModel({ model: given, price, silenceMs = SILENCE_MS, ...rest }: AiSdkOptions): Model {
  const model = given as LanguageModelV4;
  const abilities = { ...ABILITIES, ...rest.abilities };
  const provider = model.provider.split(".")[0] ?? model.provider;

  return {
    abilities,
    price,
    prepare(call) {
      const { options, leftOut } = callOptions(call, { abilities, provider });
      return { api: "ai_sdk", body: JSON.parse(JSON.stringify(options)) as JsonObject, leftOut };
    },
    async call(call, onEvent, signal) {
      const answer = createAnswerStream(call.model, onEvent, askedOutput(call, abilities)?.tool?.name);
      const reader = createPartReader(answer);
      try {
        // Some models resolve only with the first part: the watch begins before.
        return await watched({ silenceMs, signal, asFailure: thrownFailure }, async (watch) => {
          const { options } = callOptions(call, { abilities, provider });
          const { stream } = await model.doStream({ ...options, abortSignal: watch.signal });
          for await (const part of stream) {
            watch.heard();
            reader.add(part);
          }
          watch.signal.throwIfAborted();
          return reader.end();
        });
      } catch (error) {
        throw error instanceof ModelFailure ? answer.failed(error) : error;
      }
    },
  };
}

/** Whether a value is a model object of the AI SDK. */
export function isAiSdkModel(value: unknown): value is AiSdkModelObject {
  const { specificationVersion, doStream } = (value ?? {}) as Partial<AiSdkModelObject>;
  return specificationVersion === "v4" && typeof doStream === "function";
}
