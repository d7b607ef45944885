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

/** The outcome of a call, and of the question that it waited for. */
export interface SettledCall extends CallResult {
  readonly outcome: FactData<"tool.completed">["outcome"];
  readonly resolution?: Resolution;
}

/** The outcome of a call that ran. */
export function settledBy(result: CallResult): SettledCall {
  return { ...result, outcome: result.isError ? "failed" : "committed" };
}

/** The outcome of a call that has no result. */
export function missing(toolUseId: string, result: MissingResult): SettledCall {
  return { toolUseId, ...result, isError: true };
}

/** Records the result of a call. With the last result of a step, the results enter the transcript. */
export function settleCall(result: SettledCall, batch: Batch): void {
  const run = batch.state.run as RunState;
  const call = run.calls.find(({ toolUseId, phase }) => toolUseId === result.toolUseId && phase !== "done");
  if (!call) return;
  if (call.phase === "waiting") resolveAwait(call.toolUseId, result.resolution ?? "cancelled", batch);
  batch.add(toolClosed(run, call, result));
  if (run.calls.every(({ phase }) => phase === "done") && run.resultsMessageId !== null)
    batch.add(messageEntered(batch.state, run.resultsMessageId));
}

/** Gives every open call a result that says why there is no real one. */
export function closeCalls(batch: Batch, resultOf: (call: CallState) => MissingResult): void {
  const open = (batch.state.run?.calls ?? []).filter(({ phase }) => phase !== "done");
  for (const call of open) settleCall(missing(call.toolUseId, resultOf(call)), batch);
}

/**
 * Closes questions of subagents for whose answer nobody waits any more. `closeCalls` does not close them, because they
 * are not calls of the session.
 */
export function closeStrays(awaits: readonly Pick<Await, "tool_use_id">[], batch: Batch): void {
  const { run } = batch.state;
  if (!run) return;
  for (const { tool_use_id } of awaits)
    if (!run.calls.some(({ toolUseId }) => toolUseId === tool_use_id)) resolveAwait(tool_use_id, "cancelled", batch);
}

/** Records that a question was answered, or that nobody waits for its answer any longer. */
export function resolveAwait(toolUseId: string, resolution: Resolution, { state, now, add }: Batch): void {
  const { run } = state;
  if (!run) return;
  const openedAt = run.calls.find((call) => call.toolUseId === toolUseId)?.openedAt ?? null;
  const waitedMs = openedAt === null ? 0 : Math.max(0, now - Date.parse(openedAt));
  add(awaitResolved(run, toolUseId, { resolution, waitedMs }));
}
