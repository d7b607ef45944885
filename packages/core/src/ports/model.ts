import type { ContentBlock, Failure, JsonObject, ModelStreamEvent, Usage } from "@skein/protocol";

/** What is sent to a model: the body of a Messages API call, and the betas it needs. */
export interface ModelRequest {
  readonly body: JsonObject;
  readonly betas: readonly string[];
  /** The body with `stream: true` as the bytes of its JSON, where that can be had for less than writing it out. */
  readonly encoded?: () => Uint8Array;
}

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
 * - What the API refuses or breaks off is a `ModelFailure`; the signal ends the request at once.
 */
export interface Model {
  call(request: ModelRequest, onEvent: (event: ModelStreamEvent) => void, signal: AbortSignal): Promise<ModelReply>;
  /** A file that code execution made. */
  download(fileId: string, signal: AbortSignal): Promise<DownloadedFile>;
}

interface DownloadedFile {
  readonly filename: string;
  readonly mimeType: string;
  readonly bytes: Uint8Array;
}

/** What a model's API said instead of an answer. */
export class ModelFailure extends Error {
  readonly failure: Failure;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  /** What was counted of an answer that had begun; without `whole` more of it may have been on its way. */
  readonly begun: { readonly usage: Usage; readonly whole: boolean } | undefined;

  constructor(
    failure: Failure,
    {
      retryable,
      retryAfterMs,
      begun,
    }: { retryable: boolean; retryAfterMs?: number | undefined; begun?: ModelFailure["begun"] },
  ) {
    super(failure.message);
    this.name = "ModelFailure";
    this.failure = failure;
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
    this.begun = begun;
  }
}
