import {
  type Content,
  type Fact,
  type FactData,
  NO_USAGE,
  type Usage,
  addUsage,
  exactCost,
  microsOf,
  textOf,
} from "@skein/protocol";
import { rowsOf } from "../../log/message-rows.ts";
import type { CallState, QueuedPrompt, RunState, SessionState } from "../../log/state.ts";
import type { ModelReply } from "./simulated-runtime.ts";
import { priceOf } from "./model-and-tools.ts";

const MODEL = "claude-sonnet-4-5";
/** The highest possible usage of a lost model call. A lost call is charged with it. */
const MOST: Usage = { input_tokens: 5000, output_tokens: 1000 };

/** Returns the facts of a run that begins and reads its prompt. */
export function startFacts(prompt: QueuedPrompt, state: SessionState): Fact[] {
  const { run_id, message_id, content } = prompt;
  return [
    {
      event_type: "session.started",
      data: { run_id, message_id, user_message: textOf(content), formatter: "json" },
    },
    promptEnters(prompt, { runId: run_id, step: 0, before: state.transcript.length }),
  ];
}

interface Entering {
  readonly runId: string;
  readonly step: number;
  /** How many messages the transcript has. */
  readonly before: number;
}

export function promptEnters({ message_id, content }: QueuedPrompt, place: Entering): Fact {
  return entered(message_id, "user", { ...place, rows: rowsOf(message_id, "user", content).length });
}

export function resultsEnter({ resultsMessageId, calls, runId, step }: RunState, before: number): Fact {
  return entered(resultsMessageId ?? "", "user", { runId, step, before, rows: calls.length, results: true });
}

function entered(
  messageId: string,
  role: "user" | "assistant",
  { runId, step, before, rows, results }: Entering & { rows: number; results?: boolean },
): Fact {
  return {
    event_type: "message.created",
    data: {
      message_id: messageId,
      run_id: runId,
      step,
      role,
      rows,
      transformation_type: results ? "tool_result_added" : `${role}_message_added`,
      messages_before_count: before,
      messages_after_count: before + 1,
      tokens_before: before * 10,
      tokens_after: before * 10 + 10,
    },
  };
}

export function stepStarted(runId: string, step: number, attempt: number): Fact {
  return {
    event_type: "step.started",
    data: {
      run_id: runId,
      step,
      attempt,
      purpose: "step",
      model: MODEL,
      max_tokens: 1000,
      thinking_tokens: 0,
      tools_count: 2,
      messages_count: 0,
      estimated_tokens: 0,
    },
  };
}

/** Returns the facts of the model's answer. */
export function generated(
  run: RunState,
  { content, usage, stopReason }: ModelReply,
  ids: { message: string; results: string; before: number },
): Fact[] {
  const { runId, step } = run;
  const reply: Fact = {
    event_type: "step.generated",
    data: {
      run_id: runId,
      step,
      purpose: "step",
      message_id: ids.message,
      results_message_id: stopReason === "tool_use" ? ids.results : null,
      content,
      model: MODEL,
      stop_reason: stopReason,
      usage,
      cost: priceOf(MODEL, usage),
      container_id: null,
      duration_ms: 0,
    },
  };
  const rows = rowsOf(ids.message, "assistant", content).length;
  return [reply, entered(ids.message, "assistant", { runId, step, before: ids.before, rows })];
}

export function abandoned({ runId, step }: RunState): Fact {
  return {
    event_type: "step.abandoned",
    data: { run_id: runId, step, model: MODEL, usage: MOST, cost: priceOf(MODEL, MOST) },
  };
}

export function toolStarted({ runId, step }: RunState, call: CallState, policy: "once" | "repeatable"): Fact {
  const { toolUseId, name, input } = call;
  return {
    event_type: "tool.started",
    data: { run_id: runId, step, tool_use_id: toolUseId, name, input, policy },
  };
}

export function toolCompleted(
  run: RunState,
  call: CallState,
  { outcome, content }: { outcome: FactData<"tool.completed">["outcome"]; content: Content },
): Fact {
  const { toolUseId, name, input } = call;
  return {
    event_type: "tool.completed",
    data: {
      run_id: run.runId,
      step: run.step,
      tool_use_id: toolUseId,
      name,
      input,
      outcome,
      content,
      is_error: outcome !== "committed",
      message_id: run.resultsMessageId ?? "",
      part: run.calls.indexOf(call),
      duration_ms: 0,
    },
  };
}

export type Ending =
  | { readonly outcome: "completed" }
  | { readonly outcome: "failed"; readonly why: "error" | "poisoned" }
  | { readonly outcome: "cancelled" };

/**
 * Returns the facts that end a run. Every open call gets a result, because a call without a result would block the
 * session for ever.
 */
export function endFacts(state: SessionState, run: RunState, ending: Ending, reply: readonly Fact[] = []): Fact[] {
  const facts: Fact[] = [...reply];
  if (run.call && reply.length === 0) facts.push(abandoned(run));
  if (run.resultsMessageId !== null && reply.length === 0) {
    for (const call of run.calls) {
      if (call.phase === "done") continue;
      const outcome = call.phase === "started" ? "unknown" : "failed";
      facts.push(toolCompleted(run, call, { outcome, content: "The run ended before this call did." }));
    }
    facts.push(resultsEnter(run, state.transcript.length));
  }
  facts.push(terminal(run, ending, facts));
  return facts;
}

function terminal(run: RunState, ending: Ending, before: readonly Fact[]): Fact {
  let [usage, cost] = [addUsage(NO_USAGE, run.usage), BigInt(run.costPicos)];
  for (const fact of before) {
    if (fact.event_type !== "step.generated" && fact.event_type !== "step.abandoned") continue;
    usage = addUsage(usage, fact.data.usage);
    cost += fact.data.cost ? exactCost(fact.data.cost).total : 0n;
  }
  const totals = {
    run_id: run.runId,
    step: run.step,
    usage,
    cost_micros: microsOf(cost),
    cost_picos: String(cost),
    unpriced_calls: 0,
    files_generated: 0,
    duration_ms: 0,
  };
  if (ending.outcome === "completed")
    return { event_type: "session.completed", data: { ...totals, stop_reason: "end_turn", final_response: "done" } };
  const stopReason = ending.outcome === "cancelled" ? "cancelled" : ending.why;
  return {
    event_type: "session.failed",
    data: {
      ...totals,
      outcome: ending.outcome,
      stop_reason: stopReason,
      error: { code: stopReason, message: `The run ended: ${stopReason}.` },
    },
  };
}
