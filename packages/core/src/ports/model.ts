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

/** One message of a conversation as a model is shown it. */
export type Turn = Omit<Message, "id">;

/**
 * What only the model that wrote a block can read: signatures, reasoning items, encrypted content. It is stored
 * unchanged in the block's `carry`, so that it survives a crash, a fork, an export and a move.
 */
export interface Carry {
  /** The name of the model that wrote the block. No other model is shown `data`. */
  readonly by: string;
  readonly data: unknown;
}

/**
 * One call of a model, in the format of the log.
 *
 * It is computed from the log alone: it is the same now, after a crash, and whenever somebody asks what the model saw.
 * It contains no key, no time and nothing random.
 */
export interface ModelCall {
  /** The name by which the agent or the prompt refers to the model. */
  readonly model: string;
  readonly sessionId: string;
  readonly system: string;
  /** The conversation: the blocks of the log, with a result for every tool call. */
  readonly turns: readonly Turn[];
  /**
   * The beginning of `turns` as an array that all calls of the session share and that only grows; undefined if there is
   * none.
   */
  readonly growing?: readonly Turn[];
  readonly tools: readonly ToolSchema[];
  /** Tools that the provider runs itself, in the provider's own format. */
  readonly serverTools: readonly JsonObject[];
  /** `none`: the tools are shown, so that the prefix in the cache stays the same, but must not be used. */
  readonly toolChoice: "auto" | "none";
  /** The most tokens of the answer, thinking included. */
  readonly maxTokens: number;
  /** The most tokens of thinking; 0 for no thinking. */
  readonly thinkingTokens: number;
  /**
   * How long the provider should keep the beginning of the call for the next one: minutes (`short`) or hours (`long`).
   * `off`: the beginning is not used again, so a cache would cost more than it saves. Ignored for a provider that
   * decides about caching itself.
   */
  readonly cache: "off" | "short" | "long";
  /** The shape of the final answer, if it has one. */
  readonly output?: OutputFormat;
  /** Settings in the provider's own format, from the agent's configuration. */
  readonly extra: JsonObject;
  readonly betas: readonly string[];
  /** The container of code execution that earlier calls used. */
  readonly containerId: string | null;
  /** The ids of all earlier tool calls of the session. An answer never repeats one. It is not part of the request. */
  readonly usedIds?: ReadonlySet<string>;
}

/** A shape that the final answer must have. */
interface OutputFormat {
  readonly name: string;
  /** A JSON Schema whose root is an object. */
  readonly schema: JsonObject;
  /** The provider rejected the schema before, so a tool is used to get the answer. */
  readonly isRefused?: true;
}

/** What is sent for a call. */
export interface PreparedCall {
  /** The API that the body is made for. `none`: nothing is sent, because the model cannot be called. */
  readonly api: "messages" | "responses" | "chat_completions" | "ai_sdk" | "none";
  readonly body: JsonObject;
  /** The parts of the conversation that are not sent to this model, because only another model can read them. */
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

/** A model that can do everything. */
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
 * 1. `prepare` is pure: the same call gives the same body, in any process. `call` sends that body.
 * 2. `call` makes exactly one request and never repeats it: retries are facts of the loop.
 * 3. The stream has the format of the Messages API, whichever provider answers: `message_start`, blocks with their
 *    deltas, `message_delta` with the stop reason and the counts, `message_stop`. The deltas joined are the content of
 *    the reply.
 * 4. An answer counts only if the provider itself ended it. A request that is rejected, and a stream that breaks off or
 *    is invalid, throw a `ModelFailure` with what the stream had counted.
 * 5. Counts are exact: cached tokens are not counted as input again, reasoning is part of the output. Counts that the
 *    provider did not send are not invented.
 * 6. Ids of calls fit every provider (letters, digits, `_`, `-`, at most 64), and none is in `usedIds`. `carry` has
 *    what the provider must get back unchanged. A `carry` that another model wrote is not sent, and `leftOut` lists it.
 * 7. The signal ends the request at once. Silence ends it too.
 * 8. No key and no header is in an error. Reasons: decision 201.
 */
export interface Model {
  /** The answers are simulated: they cost nothing and are marked. */
  readonly simulated?: boolean;
  /** Why every call from this process would fail, if that is known in advance: an unknown name, no key, no client. */
  readonly unusable?: string;
  readonly abilities: ModelAbilities;
  /** The size of the model's context window in tokens, if it is known. Compaction begins before it is full. */
  readonly contextWindow?: number | undefined;
  /** The price that the operator set for the model. If it is missing, the table of known prices is used. */
  readonly price?: ModelPrice | undefined;
  /** What is sent for this call. */
  prepare(call: ModelCall): PreparedCall;
  /** Makes one request. `onEvent` gets each event of the stream, in order, before the promise resolves. */
  call(call: ModelCall, onEvent: (event: ModelStreamEvent) => void, signal: AbortSignal): Promise<ModelReply>;
  /** Downloads a file that code execution made. */
  download?(fileId: string, signal: AbortSignal): Promise<DownloadedFile>;
}

/** The models of a process, by their names. */
export interface ModelCatalog {
  /**
   * Reads which models were added or changed. Called before a session of the tenant is driven. With `isUrgent`, no
   * cached result is used.
   */
  refresh(tenant: string, options?: { readonly isUrgent: boolean }): Promise<void>;
  /** The model of this name. For an unknown name: a model whose calls fail with an error that says so. */
  named(tenant: string, name: string): Model;
}

/** A catalog in which every name leads to the same model. */
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
  /** The most retries that are useful, even if the agent allows more. */
  readonly mostRetries: number;
  /** The usage of an answer that had begun. If `whole` is false, the API may bill more than that. */
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
