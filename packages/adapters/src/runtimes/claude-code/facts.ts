import { type RunState, type SessionState, completed, entered, failed, toolCompleted } from "@skein/core";
import {
  type Await,
  type CallCost,
  type Failure,
  type FactData,
  type StopReason,
  type Usage,
  isToolUse,
  priceCall,
  textOf,
} from "@skein/protocol";
import type { SDKResultMessage } from "@anthropic-ai/claude-agent-sdk";
import { createHash } from "node:crypto";
import type { Emit } from "./log.ts";
import type { CallResult, Said } from "./said.ts";

export const UNKNOWN =
  "The outcome of this call is unknown: the process that ran it ended before the result was recorded. It may or may not have taken effect. Check before you try again.";
const CANCELLED = "The run was cancelled before this call finished.";

/** Our id of an answer: derived from the API's, so that entries of the transcript lead to their message and back. */
export function messageIdOf(sessionId: string, apiMessageId: string): string {
  const hex = createHash("sha256").update(`${sessionId}/${apiMessageId}`).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Writes down what was said. */
export function emitSaid(said: Said, state: SessionState, emit: Emit, now: number): void {
  const { run } = state;
  if (!run) return;
  const run_id = run.runId;
  switch (said.kind) {
    case "started":
      return emit({ event_type: "runtime.started", data: { run_id, info: said.info } });
    case "noticed": {
      const { messageId, subtype, notice } = said;
      return emit({ event_type: "runtime.noticed", data: { run_id, message_id: messageId, subtype, notice } });
    }
    case "retried": {
      const { attempt, error, delayMs } = said;
      const data = { run_id, step: run.step + 1, attempt: Math.max(1, attempt), error, delay_ms: delayMs };
      return emit({ event_type: "step.retried", data });
    }
    case "subagent":
      return emit({
        event_type: "subagent.messaged",
        data: {
          run_id,
          message_id: said.messageId,
          parent_tool_use_id: said.parentToolUseId,
          role: said.role,
          content: said.content,
          model: said.model,
          usage: said.usage,
          cost: said.usage && said.model !== null ? costOf(said.model, said.usage) : null,
        },
      });
    case "reply":
      return emitReply(said, state, emit);
    case "steered":
      if (state.queue.some(({ message_id }) => message_id === said.messageId)) emit(entered(state, said.messageId));
      return;
    case "results":
      for (const result of said.results) emitResult(result, state, emit, "committed");
      return;
    case "ended":
      return emitEnd(said.result, state, emit, now);
  }
}

function emitReply(reply: Extract<Said, { kind: "reply" }>, state: SessionState, emit: Emit): void {
  const run = state.run as RunState;
  // An answer that asks for more while calls are open means that nobody will answer those any more.
  closeCalls(state, emit, "unknown", UNKNOWN);
  const { model, usage, content, stopReason, durationMs } = reply;
  const inStep = { run_id: run.runId, step: run.step + 1 };
  const calls = content.filter(isToolUse);
  const messageId = messageIdOf(state.sessionId, reply.apiMessageId);
  emit({
    event_type: "step.started",
    data: {
      ...inStep,
      attempt: Math.max(1, run.attempts + 1),
      purpose: "step",
      model,
      max_tokens: 0,
      thinking_tokens: 0,
      tools_count: 0,
      messages_count: state.transcript.length,
      estimated_tokens: state.contextTokens,
    },
  });
  emit({
    event_type: "step.generated",
    data: {
      ...inStep,
      purpose: "step",
      message_id: messageId,
      results_message_id: calls.length > 0 ? messageIdOf(state.sessionId, `${reply.apiMessageId}/results`) : null,
      content: [...content],
      model,
      stop_reason: stopReason,
      usage,
      cost: costOf(model, usage),
      container_id: null,
      duration_ms: durationMs,
    },
  });
  emit(entered(state, messageId));
  for (const { id, name, input } of calls)
    emit({ event_type: "tool.started", data: { ...inStep, tool_use_id: id, name, input, policy: "once" } });
}

/** Writes down what an answer has cost that never entered the transcript. */
export function emitLost(said: Said, { run }: SessionState, emit: Emit): void {
  if (!run || (said.kind !== "reply" && said.kind !== "subagent")) return;
  const { model, usage } = said;
  if (model === null || usage === null) return;
  const data = { run_id: run.runId, step: run.step + 1, model, usage, cost: costOf(model, usage) };
  emit({ event_type: "step.abandoned", data });
}

/** A call has its result; with the last one of its step, the results enter the transcript. */
export function emitResult(
  result: CallResult & { readonly resolution?: FactData<"await.resolved">["resolution"] },
  state: SessionState,
  emit: Emit,
  outcome: FactData<"tool.completed">["outcome"],
): void {
  const run = state.run as RunState;
  const call = run.calls.find(({ toolUseId, phase }) => toolUseId === result.toolUseId && phase !== "done");
  if (!call) return;
  const { content, isError, resolution = "cancelled" } = result;
  if (call.phase === "waiting") emit(resolved(run, call.toolUseId, resolution));
  emit(
    toolCompleted(run, call, {
      outcome: isError && outcome === "committed" ? "failed" : outcome,
      content,
      isError,
      durationMs: 0,
    }),
  );
  if (run.calls.every(({ phase }) => phase === "done") && run.resultsMessageId !== null)
    emit(entered(state, run.resultsMessageId));
}

/** Every open call gets a result that says why there is none. */
function closeCalls(state: SessionState, emit: Emit, outcome: "failed" | "unknown", content: string): void {
  const open = (state.run?.calls ?? []).filter(({ phase }) => phase !== "done");
  for (const { toolUseId } of open) emitResult({ toolUseId, content, isError: true }, state, emit, outcome);
}

/** Questions of subagents are no calls of the session: they are closed by themselves when nobody will hear the answer. */
export function closeStrays(state: SessionState, emit: Emit, awaits: readonly Pick<Await, "tool_use_id">[]): void {
  const { run } = state;
  if (!run) return;
  for (const { tool_use_id } of awaits)
    if (!run.calls.some(({ toolUseId }) => toolUseId === tool_use_id)) emit(resolved(run, tool_use_id, "cancelled"));
}

export function resolved(run: RunState, toolUseId: string, resolution: FactData<"await.resolved">["resolution"]) {
  const call = run.calls.find((one) => one.toolUseId === toolUseId);
  const waited = call?.openedAt ? Math.max(0, Date.now() - Date.parse(call.openedAt)) : 0;
  return {
    event_type: "await.resolved" as const,
    data: { run_id: run.runId, step: run.step, tool_use_id: toolUseId, resolution, waited_ms: waited },
  };
}

/** The run ends as Claude Code said: `is_error` decides, never `subtype`. */
function emitEnd(result: SDKResultMessage, state: SessionState, emit: Emit, now: number): void {
  const run = state.run as RunState;
  const own = { result: result as unknown as FactData<"session.completed">["result"] };
  if (!result.is_error) {
    closeCalls(state, emit, "unknown", UNKNOWN);
    const finalResponse = result.subtype === "success" ? result.result : lastText(state);
    const ended = completed(run, { stopReason: stopReasonOf(result.stop_reason), finalResponse, now });
    return emit({ ...ended, data: { ...ended.data, ...own } } as Parameters<Emit>[0]);
  }
  const { stopReason, error } = failureOf(result, run, state);
  closeCalls(
    state,
    emit,
    stopReason === "cancelled" ? "failed" : "unknown",
    stopReason === "cancelled" ? CANCELLED : UNKNOWN,
  );
  const ended = failed(run, { stopReason, error, now });
  emit({ ...ended, data: { ...ended.data, ...own } } as Parameters<Emit>[0]);
}

/** The run ends without a word from Claude Code. */
export function emitFailure(
  state: SessionState,
  emit: Emit,
  end: { readonly stopReason: StopReason; readonly error: Failure; readonly now: number },
): void {
  if (!state.run) return;
  const cancelled = end.stopReason === "cancelled";
  closeCalls(state, emit, cancelled ? "failed" : "unknown", cancelled ? CANCELLED : UNKNOWN);
  emit(failed(state.run, end));
}

export function emitCompletion(state: SessionState, emit: Emit, now: number): void {
  if (!state.run) return;
  const stopReason = stopReasonOf(state.run.stopReason);
  emit(completed(state.run, { stopReason, finalResponse: lastText(state), now }));
}

/** Why the run may not go on spending; undefined while it may. Claude Code's own limit counts a process, not a run. */
export function spentOut({ run, agent, costMicros }: SessionState): string | undefined {
  const limits = [
    ["run", run?.costMicros ?? 0, run?.prompt.max_cost_micros ?? null],
    ["session", costMicros, agent?.max_cost_micros ?? null],
  ] as const;
  const over = limits.find(([, spent, limit]) => limit !== null && spent >= limit);
  if (!over) return undefined;
  const [what, spent, limit] = over;
  return `The ${what} may cost ${limit ?? 0} millionths of a dollar, and ${spent} are spent.`;
}

function failureOf(
  result: SDKResultMessage,
  run: RunState,
  state: SessionState,
): { readonly stopReason: StopReason; readonly error: Failure } {
  const cancelled = run.cancelRequested || state.queue.some(({ mode }) => mode === "interrupt");
  if (cancelled)
    return {
      stopReason: "cancelled",
      error: { code: "cancelled", message: run.cancelReason ?? "The run was cancelled." },
    };
  const spent = spentOut(state);
  if (spent !== undefined) return { stopReason: "budget", error: { code: "budget", message: spent } };
  const said = "errors" in result && result.errors.length > 0 ? result.errors.join("\n") : textOfResult(result);
  switch (result.subtype) {
    case "error_max_turns":
      return {
        stopReason: "max_steps",
        error: { code: "max_turns", message: said || "The limit of turns was reached." },
      };
    case "error_max_budget_usd":
      return { stopReason: "budget", error: { code: "budget", message: said || "The budget was used up." } };
    case "error_max_structured_output_retries":
      return {
        stopReason: "error",
        error: { code: "structured_output", message: said || "No answer fitted the schema that was asked for." },
      };
    case "success":
    case "error_during_execution": {
      const status = "api_error_status" in result ? result.api_error_status : undefined;
      const code = typeof status === "number" ? "api_error" : "agent_error";
      const message = said || "Claude Code ended the run with an error and did not say which.";
      return { stopReason: "error", error: { code, message, ...(typeof status === "number" && { status }) } };
    }
  }
}

function textOfResult(result: SDKResultMessage): string {
  return result.subtype === "success" ? result.result : "";
}

const STOP_REASONS: ReadonlySet<string> = new Set(["end_turn", "max_tokens", "stop_sequence", "refusal"]);

function stopReasonOf(reason: string | null): StopReason {
  return reason !== null && STOP_REASONS.has(reason) ? (reason as StopReason) : "end_turn";
}

function lastText(state: SessionState): string {
  const last = state.transcript.findLast(({ role }) => role === "assistant");
  return last ? textOf(last.content) : "";
}

/** What Claude Code says itself in the model's place, for example about an error, costs nothing. */
function costOf(model: string, usage: Usage): CallCost | null {
  if (model === "<synthetic>")
    return {
      model,
      input_micros: 0,
      output_micros: 0,
      cache_write_micros: 0,
      cache_read_micros: 0,
      server_tool_micros: 0,
      total_micros: 0,
      long_context_applied: false,
    };
  return priceCall(model, usage) ?? null;
}
