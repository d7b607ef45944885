import {
  EVERY_ABILITY,
  type Model,
  type ModelAbilities,
  ModelFailure,
  createAnswerTeller,
  createCallIds,
  createReply,
  parsedOrUndefined,
} from "@skein/core";
import type { ContentBlock, JsonObject, ModelPrice, ModelStreamEvent } from "@skein/protocol";
import type { Answer } from "../http-request.ts";
import type { LargeBody } from "../large-body.ts";
import { eachEvent, watched } from "../stream-request.ts";
import { messagesBody } from "./body.ts";
import { asFailure, errorEvent } from "./failures.ts";

/** One request of the Messages API. */
export interface MessagesRequest {
  /** The body without `stream`. */
  readonly body: JsonObject;
  /** Returns the body with `stream: true` as JSON bytes. */
  readonly encoded: () => Uint8Array | LargeBody;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Makes a request and returns the response, a stream of the Messages API. */
export type MessagesSender = (request: MessagesRequest) => Promise<Answer>;

export interface MessagesModelOptions {
  readonly send: MessagesSender;
  /** Returns the provider's name for a model. */
  readonly nameOf: (model: string) => string;
  /** False for a model that is not Claude. Its thinking is marked, because Claude rejects it. */
  readonly isClaude: boolean;
  /**
   * Whether the requested model name decides the price of a model call. Default: the name in the answer decides the
   * price.
   */
  readonly pricedAsAsked?: boolean;
  readonly silenceMs?: number | undefined;
  readonly simulated?: boolean;
  readonly abilities?: Partial<ModelAbilities>;
  readonly price?: ModelPrice | undefined;
}

/** If nothing arrives for this time, not even a ping, the request is aborted. */
export const SILENCE_MS = 300_000;

/** Settings that only an older version of the API accepts. Calls with such a setting request `WITH_SAMPLING`. */
const SAMPLING = ["temperature", "top_p", "top_k"];
const WITH_SAMPLING = "2023-06-01";

/** Creates a model that is called through the Messages API. `send` makes the requests directly or through a cloud. */
export function createMessagesModel({
  send,
  nameOf,
  isClaude,
  pricedAsAsked = false,
  silenceMs = SILENCE_MS,
  simulated = false,
  abilities: given,
  price,
}: MessagesModelOptions): Model {
  const abilities = { ...EVERY_ABILITY, ...given };

  return {
    simulated,
    abilities,
    price,
    prepare(call) {
      const { api, body, leftOut } = messagesBody(call, { name: nameOf(call.model), isClaude, abilities });
      return { api, body, leftOut };
    },
    async call(call, onEvent, signal) {
      const { body, encoded, answerTool } = messagesBody(call, { name: nameOf(call.model), isClaude, abilities });
      const teller = createAnswerTeller(answerTool);
      const reply = createReply(isClaude ? undefined : call.model);
      const idOf = isClaude ? undefined : createCallIds(call.usedIds);
      const headers = {
        ...(call.betas.length > 0 && { "anthropic-beta": call.betas.join(",") }),
        ...(SAMPLING.some((name) => name in body) && { "anthropic-version": WITH_SAMPLING }),
      };
      try {
        return await watched({ silenceMs, signal, asFailure }, async (watch) => {
          const response = await send({ body, encoded, headers, signal: watch.signal });
          await eachEvent(response, watch, (data, event) => {
            if (event === "error") {
              reply.forget();
              throw errorEvent(data);
            }
            // Some servers send the type of an event only in its data.
            const sent = (event === undefined ? parsedOrUndefined(data) : JSON.parse(data)) as
              | ModelStreamEvent
              | undefined;
            if (typeof sent?.type !== "string" || sent.type === "ping") return;
            for (const told of teller.tell(idOf ? withFittingId(sent, idOf) : sent)) {
              reply.add(told);
              onEvent(told);
            }
          });
          const whole = reply.end();
          return pricedAsAsked ? { ...whole, model: call.model } : whole;
        });
      } catch (error) {
        if (!(error instanceof ModelFailure)) throw error;
        const { failure, retryable, retryAfterMs, mostRetries } = error;
        throw new ModelFailure(failure, { retryable, retryAfterMs, mostRetries, begun: reply.begun() });
      }
    },
  };
}

/**
 * Replaces the id of a tool call. A server that is not Anthropic's may repeat ids, or send ids that other providers
 * reject.
 */
function withFittingId(event: ModelStreamEvent, idOf: (providerId: string) => string): ModelStreamEvent {
  const block = event["content_block"] as ContentBlock | undefined;
  if (event.type !== "content_block_start" || block?.type !== "tool_use") return event;
  const { id } = block;
  return { ...event, content_block: { ...block, id: idOf(typeof id === "string" ? id : "") } };
}
