import type { Fact } from "@skein/protocol";
import type { Model } from "../ports/model.ts";
import type { Tool } from "../ports/tool.ts";
import type { RunState } from "../log/state.ts";
import type { Hooks } from "./hooks.ts";
import type { Spending } from "../shares/spend-gate.ts";
import type { Arrived } from "../run/arriving-answer.ts";

/** What a driver knows that is not in the log. */
export interface View {
  /** The fence of the driver's lease. */
  readonly fence: number;
  /** The run that this driver started itself: no `run.resumed` is needed. */
  readonly startedHere: string | null;
  /** The only run that this driver may begin; undefined if it may begin any. */
  readonly onlyRun?: string | undefined;
  /** Why the run may not spend more: the run ends with this sentence. */
  readonly refusal?: string | undefined;
  /** The result of reserving money before each call; undefined if the operator has set no caps. */
  readonly spending?: ((key: string) => Spending | undefined) | undefined;
  readonly tools: ReadonlyMap<string, Tool>;
  /** Which hooks of the agent are called before model calls and tool calls. */
  readonly hooks?: Pick<Hooks, "beforeModelCall" | "beforeToolCall"> | undefined;
  /** Results of checks before calls. These results are not recorded as facts. */
  readonly checks?: Checks | undefined;
  /** The notices that the tools have given so far. */
  readonly notices: readonly string[];
  /** Whether the agent's code validates final answers, and whether a rejected answer is sent back to the model. */
  readonly validates: boolean;
  readonly maxValidationFailures: number;
  readonly remembers: boolean;
  /** What is known about the model of the next call. */
  readonly model: Pick<Model, "simulated" | "price" | "contextWindow">;
  /** The part of the current model call's answer that has arrived. */
  readonly arrived?: () => Arrived | undefined;
  /** Why this agent cannot work here. Its run fails with this sentence, instead of being retried for ever. */
  readonly problem?: string;
  /** What went wrong in this process when it last drove the session. */
  readonly lastProblem?: string;
}

/**
 * The checks that one driver has made before calls: by hooks that changed nothing, and by asynchronous rules about
 * approvals.
 */
export interface Checks {
  /** The names of the steps and calls that a hook has seen. */
  readonly seen: Set<string>;
  /** Whether a person is asked about a call. A promise while an asynchronous rule decides. */
  readonly approvals: Map<string, boolean | Promise<boolean>>;
}

/** The name of the step whose model call is next. */
export function stepName({ runId, step, stepDone }: RunState): string {
  return `${runId}/${stepDone ? step + 1 : step}`;
}

/** Something that should be running. Its key identifies it, so that it is started once. */
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
  /** `asksAgain`: the problem is sent to the model. Otherwise the run fails. */
  | { readonly kind: "validate"; readonly asksAgain: boolean }
  | { readonly kind: "wait"; readonly until: number }
  | { readonly kind: "reserve-spend"; readonly maxTokens: number }
);

export interface Decision {
  /** Facts to append before anything else happens. The append is rejected if the log has new events. */
  readonly facts: readonly Fact[];
  /** What should be running after the append. All other effects are aborted. */
  readonly effects: readonly Effect[];
  /** Release the session until this time, or until an event arrives. */
  readonly sleep: { readonly dueAt: number | null } | null;
}

/** Append these facts, then decide again. */
export function appendFacts(...facts: readonly Fact[]): Decision {
  return { facts, effects: [], sleep: null };
}

/** These effects should be running, and no others. */
export function runEffects(...effects: readonly Effect[]): Decision {
  return { facts: [], effects, sleep: null };
}

/** Nothing can happen here until this time, or until an event arrives. */
export function sleepUntil(dueAt: number | null): Decision {
  return { facts: [], effects: [], sleep: { dueAt } };
}
