import type { Fact } from "@skein/protocol";
import type { Tool } from "../ports/tool.ts";
import type { Arrived } from "../run/arriving-answer.ts";

/** What a driver knows besides the log. */
export interface View {
  /** The fence of the lease it drives under. */
  readonly fence: number;
  /** The run that this driver started itself: it needs no resuming. */
  readonly startedHere: string | null;
  readonly tools: ReadonlyMap<string, Tool>;
  /** What was noticed about the tools so far. */
  readonly notices: readonly string[];
  /** Whether the agent's code checks final answers, and how often it may send one back. */
  readonly validates: boolean;
  readonly maxValidationFailures: number;
  readonly remembers: boolean;
  /** The model of this process is a simulation. */
  readonly simulated?: boolean;
  /** What has arrived of the model call that is under way here. */
  readonly arrived?: () => Arrived | undefined;
  /** Why this agent cannot work here: its run fails with this sentence instead of being tried for ever. */
  readonly problem?: string;
  /** What went wrong in this process when it last drove the session. */
  readonly lastProblem?: string;
}

/** Something that should be going on. Its key tells it from others, so that it is started once. */
export type Effect = { readonly key: string } & (
  | { readonly kind: "call-model" }
  | { readonly kind: "run-tool"; readonly toolUseId: string }
  | { readonly kind: "start-subagent"; readonly toolUseId: string }
  | { readonly kind: "cancel-subagent"; readonly toolUseId: string }
  | { readonly kind: "inform-parent"; readonly problem: string | null }
  | { readonly kind: "store-file"; readonly fileId: string }
  | { readonly kind: "retrieve-memory" }
  | { readonly kind: "update-memory" }
  | { readonly kind: "compact" }
  /** `asksAgain`: what is wrong goes back to the model. Otherwise the run fails. */
  | { readonly kind: "validate"; readonly asksAgain: boolean }
  | { readonly kind: "wait"; readonly until: number }
);

export interface Decision {
  /** To be written down before anything else happens, as one intent: refused if the log has moved. */
  readonly facts: readonly Fact[];
  /** What should be running when that is done; everything else should not. */
  readonly effects: readonly Effect[];
  /** Nothing can go on here: give the session back until then, or until something arrives. */
  readonly sleep: { readonly dueAt: number | null } | null;
}

/** Something has to be written down first; what follows from it is decided then. */
export function appendFacts(...facts: readonly Fact[]): Decision {
  return { facts, effects: [], sleep: null };
}

/** These should be going on, and nothing else. */
export function runEffects(...effects: readonly Effect[]): Decision {
  return { facts: [], effects, sleep: null };
}

/** Nothing can go on here until then, or until something arrives. */
export function sleepUntil(dueAt: number | null): Decision {
  return { facts: [], effects: [], sleep: { dueAt } };
}
