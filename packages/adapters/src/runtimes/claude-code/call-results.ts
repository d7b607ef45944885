import {
  type Batch,
  type CallState,
  type MissingResult,
  type RunState,
  awaitResolved,
  messageEntered,
  toolClosed,
} from "@skein/core";
import type { Await, FactData } from "@skein/protocol";
import type { CallResult } from "./sdk-messages.ts";

type Resolution = FactData<"await.resolved">["resolution"];

/** The outcome of a tool call, and how the wait for the answer to its question ended. */
export interface SettledCall extends CallResult {
  readonly outcome: FactData<"tool.completed">["outcome"];
  readonly resolution?: Resolution;
}

/** Returns the outcome of a call that ran. */
export function settledBy(result: CallResult): SettledCall {
  return { ...result, outcome: result.isError ? "failed" : "committed" };
}

/** Returns the outcome of a call without a result. */
export function missing(toolUseId: string, result: MissingResult): SettledCall {
  return { toolUseId, ...result, isError: true };
}

/**
 * Records the result of a tool call. After the last tool call of a step, adds the message with the results to the
 * transcript.
 */
export function settleCall(result: SettledCall, batch: Batch): void {
  const run = batch.state.run as RunState;
  const call = run.calls.find(({ toolUseId, phase }) => toolUseId === result.toolUseId && phase !== "done");
  if (!call) return;
  if (call.phase === "waiting") resolveAwait(call.toolUseId, result.resolution ?? "cancelled", batch);
  batch.add(toolClosed(run, call, result));
  if (run.calls.every(({ phase }) => phase === "done") && run.resultsMessageId !== null)
    batch.add(messageEntered(batch.state, run.resultsMessageId));
}

/** Gives every tool call without a result a substitute result, which says why the real result is missing. */
export function closeCalls(batch: Batch, resultOf: (call: CallState) => MissingResult): void {
  const open = (batch.state.run?.calls ?? []).filter(({ phase }) => phase !== "done");
  for (const call of open) settleCall(missing(call.toolUseId, resultOf(call)), batch);
}

/**
 * Closes questions of subagents when nobody waits for their answers any more. `closeCalls` only closes calls of the
 * session.
 */
export function closeStrays(awaits: readonly Pick<Await, "tool_use_id">[], batch: Batch): void {
  const { run } = batch.state;
  if (!run) return;
  for (const { tool_use_id } of awaits)
    if (!run.calls.some(({ toolUseId }) => toolUseId === tool_use_id)) resolveAwait(tool_use_id, "cancelled", batch);
}

/** Records the resolution of a question: its answer, or the end of the wait. */
export function resolveAwait(toolUseId: string, resolution: Resolution, { state, now, add }: Batch): void {
  const { run } = state;
  if (!run) return;
  const openedAt = run.calls.find((call) => call.toolUseId === toolUseId)?.openedAt ?? null;
  const waitedMs = openedAt === null ? 0 : Math.max(0, now - Date.parse(openedAt));
  add(awaitResolved(run, toolUseId, { resolution, waitedMs }));
}
