import {
  type CallCost,
  type Content,
  type Failure,
  type StopReason,
  type Usage,
  freeCall,
  type ModelPrice,
  priceCall,
  textOf,
} from "@skein/protocol";
import { type CallState, type QueuedPrompt, type RunState, type SessionState, statusOf } from "../log/state.ts";

/**
 * The rules of a run for every runtime: which prompt is next, when and why a run ends, and what is recorded for a call
 * without a result. All are pure functions of the state. The rules about money are in budget.ts.
 */

/** How a run ends if it does not complete. */
export interface RunEnd {
  readonly stopReason: StopReason;
  readonly error: Failure;
}

/**
 * The most workers in a row that may take over a run without progress. After the next takeover, the run counts as the
 * cause of the crashes.
 */
const POISON_AFTER = 5;

/** The result of a call that had begun when its worker died. */
const UNKNOWN_OUTCOME =
  "The outcome of this call is unknown: the process that ran it ended before the result was recorded. It may or may not have taken effect. Check before you try again.";
const CANCELLED = "The run was cancelled before this call finished.";
const NOT_RUN = "This call was not run: the run ended before it.";

/**
 * Returns the prompt that opens the next run. This is an interrupting prompt, or the oldest prompt if no prompt
 * interrupts.
 */
export function nextPrompt({ queue }: Pick<SessionState, "queue">): QueuedPrompt | undefined {
  return queue.find(({ mode }) => mode === "interrupt") ?? queue[0];
}

/** Whether the run was cancelled, or an interrupting prompt waits. */
export function isCancelled({ queue }: Pick<SessionState, "queue">, { cancelRequested }: RunState): boolean {
  return cancelRequested || queue.some(({ mode }) => mode === "interrupt");
}

/**
 * Returns the run that has something to do. A run that only has to be ended, or that waits for somebody, is left out.
 */
export function runToDrive(state: SessionState): string | undefined {
  const { run } = state;
  if (!run) return nextPrompt(state)?.run_id;
  return isCancelled(state, run) || statusOf(state) === "awaiting" ? undefined : run.runId;
}

/** Returns the end of a run that must not continue, because it crashes its workers or was cancelled. */
export function forcedEnd(state: SessionState, run: RunState, lastProblem?: string): RunEnd | undefined {
  return poisoning(run, lastProblem) ?? cancellation(state, run);
}

/** Returns the end of a cancelled run. Undefined if the run may continue. */
export function cancellation(state: SessionState, run: RunState): RunEnd | undefined {
  if (!isCancelled(state, run)) return undefined;
  return endWith({ code: "cancelled", message: run.cancelReason ?? "The run was cancelled." });
}

/** Returns whether a run was taken over too often without progress. The next worker may only end this run. */
export function isPoisoned({ resumesWithoutProgress }: Pick<RunState, "resumesWithoutProgress">): boolean {
  return resumesWithoutProgress > POISON_AFTER;
}

/**
 * Returns the end of a run that crashes its workers. Undefined if the run may continue. `lastProblem` is the last error
 * that a worker could report.
 */
function poisoning(run: RunState, lastProblem?: string): RunEnd | undefined {
  if (!isPoisoned(run)) return undefined;
  const because = lastProblem === undefined ? "" : ` The last time it ended with: ${lastProblem}`;
  const message = `The run was taken over ${run.resumesWithoutProgress} times without progress.${because}`;
  return endWith({ code: "poisoned", message });
}

const STOP_REASONS_BY_CODE: ReadonlyMap<string, StopReason> = new Map([
  ["cancelled", "cancelled"],
  ["poisoned", "poisoned"],
  ["budget_exceeded", "budget"],
  ["context_window_exceeded", "context_window_exceeded"],
  ["max_turns", "max_steps"],
]);

/** The end of a run with this error. The code of the error decides the stop reason. */
export function endWith(error: Failure): RunEnd {
  return { stopReason: STOP_REASONS_BY_CODE.get(error.code) ?? "error", error };
}

const STOP_REASONS_BY_REPLY: ReadonlyMap<string | null, StopReason> = new Map([
  ["max_tokens", "max_tokens"],
  ["stop_sequence", "stop_sequence"],
  ["refusal", "refusal"],
  ["model_context_window_exceeded", "context_window_exceeded"],
]);

/** Returns the stop reason of a completed run. `reply` is the stop reason of the model's last reply. */
export function stopReasonOf(reply: string | null): StopReason {
  return STOP_REASONS_BY_REPLY.get(reply) ?? "end_turn";
}

/** The final response of a run: the text of the last answer after its last tool block. */
export function finalResponse({ transcript }: Pick<SessionState, "transcript">): string {
  const last = transcript.findLast(({ role }) => role === "assistant");
  return last ? finalText(last.content) : "";
}

/** The text of an answer after its last tool block. */
export function finalText(content: Content): string {
  if (typeof content === "string") return content;
  const lastTool = content.findLastIndex(({ type }) => type.includes("tool"));
  return textOf(content.slice(lastTool + 1));
}

/** What is recorded for a call without a result. */
export interface MissingResult {
  readonly outcome: "failed" | "unknown";
  readonly content: string;
}

/** The result of a call whose worker has died, or whose result will never come. */
export const LOST_RESULT: MissingResult = { outcome: "unknown", content: UNKNOWN_OUTCOME };

/** The result of a call that is still open when its run ends. */
export function resultAtEnd({ phase, policy }: CallState, stopReason: StopReason): MissingResult {
  const mayHaveRun = phase === "started" && policy === "once";
  const outcome = mayHaveRun ? "unknown" : "failed";
  if (stopReason === "cancelled") return { outcome, content: CANCELLED };
  return { outcome, content: mayHaveRun ? UNKNOWN_OUTCOME : NOT_RUN };
}

/** The result of a call whose subagent was told to stop. */
export const CANCELLED_RESULT: MissingResult = { outcome: "failed", content: CANCELLED };

/**
 * The model name in messages that Claude Code writes without a model, for example about an error. Such messages cost
 * nothing.
 */
const NO_MODEL = "<synthetic>";
/** What a call of a model cost; null if the model has no price. */
export function costOf(model: string, usage: Usage, price?: ModelPrice): CallCost | null {
  return model === NO_MODEL ? freeCall(model) : (priceCall(model, usage, price) ?? null);
}
