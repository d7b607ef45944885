import type { ContentBlock, Failure, JsonObject, ModelStreamEvent, Usage } from "@skein/protocol";

/** What is sent to a model: the body of a Messages API call, and the betas it needs. */
export interface ModelRequest {
  readonly body: JsonObject;
  readonly betas: readonly string[];
  /** The body with `stream: true` as the bytes of its JSON, where the caller can make them faster than `JSON.stringify`. */
  readonly encoded?: () => Uint8Array;
}

/** A whole answer of a model. */
export interface ModelReply {
  readonly content: readonly ContentBlock[];
  readonly stopReason: string | null;
  readonly usage: Usage;
  readonly model: string;
  readonly containerId: string | null;
}

/**
 * A model behind an API. Rules:
 *
 * - `call` makes exactly one request and never repeats it: retries are facts of the loop.
 * - A request that the API rejects, or an answer that breaks off, throws a `ModelFailure`.
 * - The signal ends the request at once.
 */
export interface Model {
  /** The answers are made up: they cost nothing and are marked. */
  readonly simulated?: boolean;
  /** Makes one request. `onEvent` gets each event of the stream, in order, before the promise resolves. */
  call(request: ModelRequest, onEvent: (event: ModelStreamEvent) => void, signal: AbortSignal): Promise<ModelReply>;
  /** Downloads a file that code execution made. */
  download(fileId: string, signal: AbortSignal): Promise<DownloadedFile>;
}

interface DownloadedFile {
  readonly filename: string;
  readonly mimeType: string;
  readonly bytes: Uint8Array;
}

/** The error of a call to a model that did not bring a whole answer. */
export class ModelFailure extends Error {
  readonly failure: Failure;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** How long the API asked to wait before a retry. */
  readonly retryAfterMs: number | undefined;
  /** The most retries that make sense, if the agent allows more. */
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
