import {
  type Content,
  type Failure,
  type Fact,
  type FactData,
  type Message,
  type StopReason,
  type Usage,
  priceCall,
} from "@skein/protocol";
import { estimateTokens } from "../estimate-tokens.ts";
import { rowsOf } from "../message-rows.ts";
import { type CallState, type RunState, type SessionState, TOOLS_NOTICED } from "../state.ts";
import { derivedId } from "../subagents.ts";
import { modelOf, requestOf } from "./request.ts";

/** A message takes its place in the transcript. */
export function entered(state: SessionState, messageId: string): Fact {
  const run = state.run as RunState;
  const results = messageId === run.resultsMessageId;
  const pending = state.pending[messageId];
  const role: Message["role"] = results ? "user" : (pending?.role ?? "user");
  const rows = results ? run.calls.length : rowsOf(messageId, role, pending?.content ?? "").length;
  const content: unknown = results ? run.calls.map((call) => call.result) : pending?.content;
  const measured = run.replyId === messageId;
  return {
    event_type: "message.created",
    data: {
      message_id: messageId,
      run_id: run.runId,
      step: run.step,
      role,
      rows,
      transformation_type: results
        ? "tool_result_added"
        : role === "assistant"
          ? "assistant_message_added"
          : "user_message_added",
      messages_before_count: state.transcript.length,
      messages_after_count: state.transcript.length + 1,
      tokens_before: state.contextTokens,
      tokens_after: state.contextTokens + (measured ? 0 : estimateTokens(content)),
    },
  };
}

/** A worker takes up a run that it did not begin: what was opened before is an orphan. */
export function resumed({ runId }: RunState, fence: number): Fact {
  return { event_type: "run.resumed", data: { run_id: runId, fence } };
}

/** Something about the tools that whoever reads the log should know. */
export function noticed({ runId }: RunState, text: string): Fact {
  return {
    event_type: "runtime.noticed",
    data: { run_id: runId, message_id: derivedId("notice", runId, text), subtype: TOOLS_NOTICED, notice: { text } },
  };
}

/** A call gets its result without having run to its end. */
export function closed(
  run: RunState,
  call: CallState,
  result: { outcome: "failed" | "unknown" | "committed"; content: Content; isError?: boolean },
): Fact {
  return toolCompleted(run, call, { ...result, isError: result.isError ?? true, durationMs: 0 });
}

export function toolCompleted(
  run: RunState,
  call: CallState,
  result: { outcome: FactData<"tool.completed">["outcome"]; content: Content; isError: boolean; durationMs: number },
): Fact {
  return {
    event_type: "tool.completed",
    data: {
      run_id: run.runId,
      step: run.step,
      tool_use_id: call.toolUseId,
      name: call.name,
      input: call.input,
      outcome: result.outcome,
      content: result.content,
      is_error: result.isError,
      message_id: run.resultsMessageId ?? "",
      part: run.calls.findIndex(({ toolUseId }) => toolUseId === call.toolUseId),
      duration_ms: result.durationMs,
    },
  };
}

/** The open model call is given up, and charged at the most it can have cost. */
export function abandoned(state: SessionState, call: FactData<"step.started">): Fact {
  // The dearest that it can have been: the whole request written to the cache, the answer as long as it may be.
  const sent = estimateTokens(requestOf(state, call.purpose, call.max_tokens).body);
  const usage: Usage = {
    input_tokens: 0,
    output_tokens: call.max_tokens,
    cache_creation_input_tokens: Math.max(call.estimated_tokens, sent),
  };
  return {
    event_type: "step.abandoned",
    data: {
      run_id: call.run_id,
      step: call.step,
      model: call.model,
      usage,
      cost: priceCall(call.model || modelOf(state), usage) ?? null,
    },
  };
}

export function completed(run: RunState, end: { stopReason: StopReason; finalResponse: string; now: number }): Fact {
  return {
    event_type: "session.completed",
    data: {
      run_id: run.runId,
      step: run.step,
      stop_reason: end.stopReason,
      final_response: end.finalResponse,
      ...totals(run, end.now),
    },
  };
}

export function failed(run: RunState, end: { stopReason: StopReason; error: Failure; now: number }): Fact {
  return {
    event_type: "session.failed",
    data: {
      run_id: run.runId,
      step: run.step,
      outcome: end.stopReason === "cancelled" ? "cancelled" : "failed",
      stop_reason: end.stopReason,
      error: end.error,
      ...totals(run, end.now),
    },
  };
}

function totals(run: RunState, now: number) {
  return {
    usage: run.usage,
    cost_micros: run.costMicros,
    unpriced_calls: run.unpricedCalls,
    files_generated: run.filesGenerated,
    duration_ms: Math.max(0, now - Date.parse(run.startedAt)),
  };
}
