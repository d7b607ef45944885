import type {
  ContentBlock,
  Failure,
  JsonObject,
  Message,
  ModelPrice,
  ModelStreamEvent,
  ToolSchema,
  Usage,
} from "@skein/protocol";

/** A message of a conversation in the form for a model. */
export type Turn = Omit<Message, "id">;

/**
 * Data of a block that only the model that wrote the block can read, such as signatures or encrypted reasoning. The
 * block keeps this data unchanged in `carry`, so that it survives a crash, a fork, an export and a move.
 */
export interface Carry {
  /** The name of the model that wrote the block. No other model is shown `data`. */
  readonly by: string;
  readonly data: unknown;
}

/**
 * A call of a model, in the format of the log. It is computed from the log only. So it can be computed again after a
 * crash, or to show people what the model saw. It contains no API key, no time and nothing random.
 */
export interface ModelCall {
  /** The name of the model in the agent's settings or in the prompt. */
  readonly model: string;
  readonly sessionId: string;
  readonly system: string;
  /** The conversation: the blocks of the log, with a result for every tool call. */
  readonly turns: readonly Turn[];
  /**
   * The beginning of `turns`, as one array that all calls of the session share. The array only grows, so its JSON can
   * be kept between calls. Undefined if the session has no such array.
   */
  readonly growing?: readonly Turn[];
  readonly tools: readonly ToolSchema[];
  /** Tools that the provider runs, in the format of the provider. */
  readonly serverTools: readonly JsonObject[];
  /** With `none`, the model must not use the tools. They are still sent, so that the cached prefix stays the same. */
  readonly toolChoice: "auto" | "none";
  /** The most tokens of the answer, thinking included. */
  readonly maxTokens: number;
  /** The most tokens of thinking; 0 for no thinking. */
  readonly thinkingTokens: number;
  /**
   * How long the provider should cache the beginning of the call for the next call: minutes (`short`) or hours
   * (`long`). With `off`, the provider should not cache it, for example because no later call has the same
   * beginning. Some providers ignore this setting.
   */
  readonly cache: "off" | "short" | "long";
  /** The form of the final answer, if the agent has an output schema. */
  readonly output?: OutputFormat;
  /** Settings of the agent in the format of the provider. */
  readonly extra: JsonObject;
  readonly betas: readonly string[];
  /** The container of code execution that earlier calls used. */
  readonly containerId: string | null;
  /**
   * The ids of all earlier tool calls of the session. An answer must not repeat an id. The request does not contain
   * this set.
   */
  readonly usedIds?: ReadonlySet<string>;
}

/** The form that the final answer must have. */
interface OutputFormat {
  readonly name: string;
  /** A JSON Schema whose root is an object. */
  readonly schema: JsonObject;
  /** The provider rejected the schema before, so a tool is used to get the answer. */
  readonly isRefused?: true;
}

/** The request for a call. */
export interface PreparedCall {
  /** The API for which `body` is made. With `none`, nothing is sent, because the model cannot be called. */
  readonly api: "messages" | "responses" | "chat_completions" | "ai_sdk" | "none";
  readonly body: JsonObject;
  /** The parts of the conversation that are not sent, because this model cannot read them. */
  readonly leftOut: readonly LeftOut[];
}

/** A block that was taken out of a request or replaced by a sentence. */
export interface LeftOut {
  /** The index of the turn that has the block, in the call's `turns`. */
  readonly turn: number;
  /** The type of the block. */
  readonly block: string;
  readonly why: string;
}

/** A whole answer of a model. */
export interface ModelReply {
  readonly content: readonly ContentBlock[];
  readonly stopReason: string | null;
  readonly usage: Usage;
  /** The provider sent no counts: `usage` is estimated from the received text, and the call has no price. */
  readonly estimated?: true;
  readonly model: string;
  readonly containerId: string | null;
}

/** What a model can do. A request leaves out what its model cannot do, and `leftOut` lists it. */
export interface ModelAbilities {
  readonly tools: boolean;
  /** The model may ask for several tool calls in one answer. If not, its provider is told so. */
  readonly parallelTools: boolean;
  readonly images: boolean;
  readonly pdf: boolean;
  readonly thinking: boolean;
  /** The provider guarantees that answers follow a given schema. */
  readonly output: boolean;
  /** The provider caches the beginning of a call if the call marks it. Without this ability, calls mark nothing. */
  readonly caching: boolean;
}

/** The abilities of a model that can do everything. */
export const EVERY_ABILITY: ModelAbilities = {
  tools: true,
  parallelTools: true,
  images: true,
  pdf: true,
  thinking: true,
  output: true,
  caching: true,
};

/**
 * A model behind an API. `describeModel` in `@skein/core/testing` tests these rules:
 *
 * 1. `prepare` gives the same body for the same call, in any process. `call` sends this body.
 * 2. `call` makes exactly one request and never repeats it, because retries are facts of the loop.
 * 3. The stream of every provider has the format of the Messages API: `message_start`, blocks with their deltas,
 *    `message_delta` with the stop reason and the counts, `message_stop`. The joined deltas are the content of the
 *    reply.
 * 4. An answer counts only if the provider ended it. If a request is rejected, or a stream breaks off or is invalid,
 *    `call` throws a `ModelFailure` with the counts so far.
 * 5. Counts are exact: cached tokens are not counted as input again, and reasoning is part of the output. If the
 *    provider sent no counts, they are estimated, and the reply is marked with `estimated`.
 * 6. Ids of tool calls fit every provider (letters, digits, `_`, `-`, at most 64) and are not in `usedIds`. `carry` has
 * the data that must go back to the provider unchanged. `carry` of another model is not sent, and a block that is
 * useless without it is listed in `leftOut`.
 * 7. The signal ends the request at once. A stream that stays silent ends too.
 * 8. Errors contain no API key and no header. Reasons: docs/decisions/201-model-port.md.
 */
export interface Model {
  /** The answers are simulated: they cost nothing and are marked. */
  readonly simulated?: boolean;
  /**
   * Why every call from this process would fail, if this is known in advance: an unknown name, no API key, no client.
   */
  readonly unusable?: string;
  readonly abilities: ModelAbilities;
  /** The size of the model's context window in tokens, if known. Compaction begins before the window is full. */
  readonly contextWindow?: number | undefined;
  /** The price that the operator set for the model. If it is missing, the table of known prices is used. */
  readonly price?: ModelPrice | undefined;
  /** Makes the request for a call, without sending it. */
  prepare(call: ModelCall): PreparedCall;
  /** Makes one request. `onEvent` gets each event of the stream, in order, before the promise resolves. */
  call(call: ModelCall, onEvent: (event: ModelStreamEvent) => void, signal: AbortSignal): Promise<ModelReply>;
  /** Downloads a file that code execution made. */
  download?(fileId: string, signal: AbortSignal): Promise<DownloadedFile>;
}

/** The models of a process, by their names. */
export interface ModelCatalog {
  /**
   * Reads which models were added or changed. Called before a session of the tenant is driven. With `isUrgent`, the
   * cached result is not used.
   */
  refresh(tenant: string, options?: { readonly isUrgent: boolean }): Promise<void>;
  /**
   * Returns the model of this name. If the name is unknown, every call of the returned model fails with an error about
   * the name.
   */
  named(tenant: string, name: string): Model;
}

/** Creates a catalog that has this model under every name. */
export function onlyModel(model: Model): ModelCatalog {
  return { refresh: async () => {}, named: () => model };
}

interface DownloadedFile {
  readonly filename: string;
  readonly mimeType: string;
  readonly bytes: Uint8Array;
}

/** The error of a model call without a complete answer. */
export class ModelFailure extends Error {
  readonly failure: Failure;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** How long the API asked to wait before a retry. */
  readonly retryAfterMs: number | undefined;
  /** The greatest number of useful retries. It applies even if the agent allows more. */
  readonly mostRetries: number;
  /** The usage of an answer that had begun. If `whole` is false, the API may bill more. */
  readonly begun: { readonly usage: Usage; readonly whole: boolean } | undefined;

  constructor(
    failure: Failure,
    {
      retryable,
      retryAfterMs,
      mostRetries = Number.POSITIVE_INFINITY,
      begun,
    }: {
      retryable: boolean;
      retryAfterMs?: number | undefined;
      mostRetries?: number;
      begun?: ModelFailure["begun"];
    },
  ) {
    super(failure.message);
    this.name = "ModelFailure";
    this.failure = failure;
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
    this.mostRetries = mostRetries;
    this.begun = begun;
  }
}
