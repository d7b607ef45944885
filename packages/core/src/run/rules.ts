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
 * The rules of a run, whichever runtime drives it: which prompt is next, when and why a run ends, and the result of a
 * call that produced none. Pure functions of the state. The rules about money are in budget.ts.
 */

/** How a run ends if it does not complete. */
export interface RunEnd {
  readonly stopReason: StopReason;
  readonly error: Failure;
}

/**
 * How many workers may take over a run without progress. After one more worker, the run itself counts as the cause of
 * the crashes.
 */
const POISON_AFTER = 5;

/** The result of a call that had begun when its worker died. */
const UNKNOWN_OUTCOME =
  "The outcome of this call is unknown: the process that ran it ended before the result was recorded. It may or may not have taken effect. Check before you try again.";
const CANCELLED = "The run was cancelled before this call finished.";
const NOT_RUN = "This call was not run: the run ended before it.";

/** The prompt that opens the next run: an interrupting prompt, otherwise the one that has waited longest. */
export function nextPrompt({ queue }: Pick<SessionState, "queue">): QueuedPrompt | undefined {
  return queue.find(({ mode }) => mode === "interrupt") ?? queue[0];
}

/** Whether the run was cancelled, or an interrupting prompt waits. */
export function isCancelled({ queue }: Pick<SessionState, "queue">, { cancelRequested }: RunState): boolean {
  return cancelRequested || queue.some(({ mode }) => mode === "interrupt");
}

/** The run that has something to do. This excludes a run that only has to be ended, or that waits for somebody. */
export function runToDrive(state: SessionState): string | undefined {
  const { run } = state;
  if (!run) return nextPrompt(state)?.run_id;
  return isCancelled(state, run) || statusOf(state) === "awaiting" ? undefined : run.runId;
}

/**
 * The end of a run that must not continue, whatever it was doing: because it crashes its workers, or because it was
 * cancelled.
 */
export function forcedEnd(state: SessionState, run: RunState, lastProblem?: string): RunEnd | undefined {
  return poisoning(run, lastProblem) ?? cancellation(state, run);
}

/** The end of a cancelled run; undefined for a run that may continue. */
export function cancellation(state: SessionState, run: RunState): RunEnd | undefined {
  if (!isCancelled(state, run)) return undefined;
  return endWith({ code: "cancelled", message: run.cancelReason ?? "The run was cancelled." });
}

/**
 * Whether a run was resumed too often without progress: it crashes its workers, and the next worker may only end it.
 */
export function isPoisoned({ resumesWithoutProgress }: Pick<RunState, "resumesWithoutProgress">): boolean {
  return resumesWithoutProgress > POISON_AFTER;
}

/**
 * The end of a run that crashes its workers; undefined for a run that may continue. `lastProblem` is the error of the last worker, if it could report
 * one.
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

/** The stop reason of a run that completed. `reply` is the reason that the model gave for the end of its last reply. */
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

/** The recorded result of a call that produced none. */
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

/** The model name in messages that Claude Code writes itself, for example about an error. Such messages cost nothing. */
const NO_MODEL = "<synthetic>";
/** What a call of a model cost; null if the model has no price. */
export function costOf(model: string, usage: Usage, price?: ModelPrice): CallCost | null {
  return model === NO_MODEL ? freeCall(model) : (priceCall(model, usage, price) ?? null);
}
