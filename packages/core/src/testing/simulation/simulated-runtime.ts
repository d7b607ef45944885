import type { ContentBlock, Ids, Message, Usage } from "@skein/protocol";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";

/**
 * Creates the simulated runtime: the scripted runtime (the default) or the loop.
 *
 * The runtime may be killed at any `await`, and another worker may call it again. During a drive, `claimed.clock` says
 * how long the lease is valid, and the worker sets it after each renewal.
 */
export type CreateRuntime = (deps: SimulatedRuntimeDeps) => Runtime;

/**
 * Everything that a simulated runtime may use. At every call of these functions, the process can be killed, frozen or
 * delayed.
 */
export interface SimulatedRuntimeDeps {
  readonly store: Store;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly ids: Ids;
  /** A number from 0 to 1, for choices that no rule determines. */
  readonly random: () => number;
  readonly model: Model;
  readonly tools: Tools;
  /** Receives unexpected errors: the simulation reports them as bugs. */
  readonly report: (error: unknown) => void;
}

/** Answers a model call. A rejection that may be retried is a result, not an exception. */
export type Model = (request: ModelRequest) => Promise<ModelReply | { readonly failed: string }>;

export interface ModelRequest {
  readonly sessionId: string;
  readonly runId: string;
  readonly step: number;
  readonly messages: readonly Omit<Message, "id">[];
  /** False if the run is at its last step and must answer now. */
  readonly mayUseTools: boolean;
}

export interface ModelReply {
  readonly content: ContentBlock[];
  readonly usage: Usage;
  readonly stopReason: "tool_use" | "end_turn";
}

export interface Tools {
  policyOf(name: string): "once" | "repeatable";
  run(call: { readonly sessionId: string; readonly toolUseId: string; readonly name: string }): Promise<string>;
}
