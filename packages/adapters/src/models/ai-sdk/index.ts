import type { LanguageModelV4 } from "@ai-sdk/provider";
import {
  EVERY_ABILITY,
  type Model,
  type ModelAbilities,
  ModelFailure,
  askedOutput,
  createAnswerStream,
} from "@skein/core";
import type { JsonObject, ModelPrice } from "@skein/protocol";
import { watched } from "../stream-request.ts";
import { callOptions } from "./call-options.ts";
import { thrownFailure } from "./failures.ts";
import { createPartReader } from "./part-reader.ts";

/**
 * A model object of the AI SDK's provider interface, version 4 (`LanguageModelV4`). Example: `google("gemini-3-pro")`.
 * This type has only the fields that identify a model object, so Skein's types do not need the AI SDK.
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
  /** If nothing arrives for this time, the request is aborted. */
  readonly silenceMs?: number;
}

const ABILITIES: ModelAbilities = { ...EVERY_ABILITY, caching: false };
const SILENCE_MS = 300_000;

/**
 * Creates a model from a model object of the AI SDK. Each model call is one request: Skein does retries, time limits,
 * tools and the log. The caller installs the provider's package.
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
      const answer = createAnswerStream(call, onEvent, askedOutput(call, abilities)?.tool?.name);
      const parts = createPartReader(answer);
      try {
        // Some models return the stream together with its first part. The limit of silence therefore begins with the
        // request.
        return await watched({ silenceMs, signal, asFailure: thrownFailure }, async (watch) => {
          const { options } = callOptions(call, { abilities, provider });
          const { stream } = await model.doStream({ ...options, abortSignal: watch.signal });
          await eachPart(stream, (part) => {
            watch.heard();
            parts.add(part);
          });
          watch.signal.throwIfAborted();
          return parts.end();
        });
      } catch (error) {
        throw error instanceof ModelFailure ? answer.failed(error) : error;
      }
    },
  };
}

/**
 * Passes on each part of a stream. Uses the stream's reader, because Node's iterator needs twice the processor time.
 */
async function eachPart<Part>(stream: ReadableStream<Part>, take: (part: Part) => void): Promise<void> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      take(value);
    }
  } catch (error) {
    await reader.cancel(error);
    throw error;
  }
}

export function isAiSdkModel(value: unknown): value is AiSdkModelObject {
  const { specificationVersion, doStream } = (value ?? {}) as Partial<AiSdkModelObject>;
  return specificationVersion === "v4" && typeof doStream === "function";
}
