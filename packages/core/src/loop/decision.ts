import type { Fact } from "@skein/protocol";
import type { Model } from "../ports/model.ts";
import type { Tool } from "../ports/tool.ts";
import type { RunState } from "../log/state.ts";
import type { Hooks } from "./hooks.ts";
import type { Spending } from "../shares/spend-gate.ts";
import type { Arrived } from "../run/arriving-answer.ts";

/** What a driver (the worker that runs a session) knows besides the log. */
export interface View {
  readonly fence: number;
  /** The run that this driver started. This run needs no `run.resumed`. */
  readonly startedHere: string | null;
  /** The only run that this driver may begin; undefined if it may begin any run. */
  readonly onlyRun?: string | undefined;
  /** Why the run may not spend more. The run ends with this sentence. */
  readonly refusal?: string | undefined;
  /**
   * Returns the result of the reservation of money for a model call; undefined before the reservation. If the operator
   * has set no caps, there is no such function.
   */
  readonly spending?: ((key: string) => Spending | undefined) | undefined;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly hooks?: Pick<Hooks, "beforeModelCall" | "beforeToolCall"> | undefined;
  /** Results of checks before calls. These results are not recorded as facts. */
  readonly checks?: Checks | undefined;
  readonly notices: readonly string[];
  /** Whether the agent's code validates final answers. If so, a rejected answer may go back to the model. */
  readonly validates: boolean;
  readonly maxValidationFailures: number;
  readonly remembers: boolean;
  /** What is known about the model of the next call. */
  readonly model: Pick<Model, "simulated" | "price" | "contextWindow">;
  /** Returns what has arrived of the model's answer so far. */
  readonly arrived?: () => Arrived | undefined;
  /** Why this agent cannot work in this process. Its run fails with this sentence and is not retried. */
  readonly problem?: string;
  /** The error with which this process last failed to drive the session. */
  readonly lastProblem?: string;
}

/**
 * Results of the checks that a driver makes before calls: hooks that changed nothing, and asynchronous rules about
 * approvals.
 */
export interface Checks {
  /** The tool calls and steps whose hook has run and changed nothing. */
  readonly seen: Set<string>;
  /** Whether people are asked about a call. The value is a promise while an asynchronous rule decides. */
  readonly approvals: Map<string, boolean | Promise<boolean>>;
}

/** The name of the step whose model call is next. */
export function stepName({ runId, step, stepDone }: RunState): string {
  return `${runId}/${stepDone ? step + 1 : step}`;
}

/** Work that should be in progress. The key identifies the work, so that it is started once. */
export type Effect = { readonly key: string } & (
  | { readonly kind: "call-model" }
  | { readonly kind: "hook-model" }
  | { readonly kind: "hook-call"; readonly toolUseId: string }
  | { readonly kind: "check-approval"; readonly toolUseId: string }
  | { readonly kind: "run-tool"; readonly toolUseId: string }
  | { readonly kind: "start-subagent"; readonly toolUseId: string }
  | { readonly kind: "cancel-subagent"; readonly toolUseId: string }
  | { readonly kind: "inform-parent"; readonly problem: string | null }
  | { readonly kind: "store-file"; readonly fileId: string }
  | { readonly kind: "retrieve-memory" }
  | { readonly kind: "update-memory" }
  | { readonly kind: "compact" }
  /** If `asksAgain` is true, the problem is sent to the model. If it is false, the run fails. */
  | { readonly kind: "validate"; readonly asksAgain: boolean }
  | { readonly kind: "wait"; readonly until: number }
  | { readonly kind: "reserve-spend"; readonly maxTokens: number }
);

export interface Decision {
  /**
   * Facts to append before the effects. The append is rejected if the log has events that the decision did not know.
   */
  readonly facts: readonly Fact[];
  /** The effects that should be in progress after the append. All others are aborted. */
  readonly effects: readonly Effect[];
  /** If set, the session is released until `dueAt` or until an event arrives. */
  readonly sleep: { readonly dueAt: number | null } | null;
}

/** Decides to append facts. The loop then decides again. */
export function appendFacts(...facts: readonly Fact[]): Decision {
  return { facts, effects: [], sleep: null };
}

/** Decides that only these effects are in progress. */
export function runEffects(...effects: readonly Effect[]): Decision {
  return { facts: [], effects, sleep: null };
}

/** Decides to release the session until this time or until an event arrives. */
export function sleepUntil(dueAt: number | null): Decision {
  return { facts: [], effects: [], sleep: { dueAt } };
}
