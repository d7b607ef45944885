import { type JsonObject, type StopReason, microsOf, textOf } from "@skein/protocol";
import type { QueuedPrompt, RunState } from "../../log/state.ts";
import type { RunEnd } from "../rules.ts";
import { type FactOf, type Place, inStep } from "./place.ts";

/** Makes the fact `session.started`: a run begins with its prompt. */
export function runStarted(
  { run_id, message_id, content }: Pick<QueuedPrompt, "run_id" | "message_id" | "content">,
  formatter: string,
): FactOf<"session.started"> {
  return {
    event_type: "session.started",
    data: { run_id, message_id, user_message: textOf(content), formatter },
  };
}

/**
 * Makes the fact `run.resumed`: a worker takes over a run. The earlier worker no longer finishes the calls that it
 * began.
 */
export function runResumed({ runId }: Pick<RunState, "runId">, fence: number): FactOf<"run.resumed"> {
  return { event_type: "run.resumed", data: { run_id: runId, fence } };
}

/** Makes the fact `steps.exhausted`: the run has used up its steps. A summary follows. */
export function stepsExhausted(place: Place, maxSteps: number): FactOf<"steps.exhausted"> {
  return { event_type: "steps.exhausted", data: { ...inStep(place), max_steps: maxSteps } };
}

/** Makes the fact `parent.informed`: a subagent's session has sent its answer to the session that called it. */
export function parentInformed(
  place: Place,
  { session_id, tool_use_id }: { readonly session_id: string; readonly tool_use_id: string },
): FactOf<"parent.informed"> {
  return { event_type: "parent.informed", data: { ...inStep(place), session_id, tool_use_id } };
}

/** The totals of a run. */
export type RunTotals = Place &
  Pick<RunState, "usage" | "costPicos" | "unpricedCalls" | "filesGenerated"> & {
    readonly startedAt: string;
    readonly estimatedCalls?: number;
    readonly simulatedCalls?: number;
  };

interface Ending {
  readonly now: number;
  /** The amount that the run's interrupted model calls may have cost beyond their known cost. */
  readonly reservedMicros?: number;
  /** The result that the runtime reported, if it has more data than the totals. */
  readonly result?: JsonObject | undefined;
}

export function runCompleted(
  run: RunTotals,
  end: Ending & { readonly stopReason: StopReason; readonly finalResponse: string },
): FactOf<"session.completed"> {
  return {
    event_type: "session.completed",
    data: {
      ...inStep(run),
      stop_reason: end.stopReason,
      final_response: end.finalResponse,
      ...totals(run, end),
    },
  };
}

export function runFailed(run: RunTotals, end: Ending & RunEnd): FactOf<"session.failed"> {
  return {
    event_type: "session.failed",
    data: {
      ...inStep(run),
      outcome: end.stopReason === "cancelled" ? "cancelled" : "failed",
      stop_reason: end.stopReason,
      error: end.error,
      ...totals(run, end),
    },
  };
}

function totals(run: RunTotals, { now, reservedMicros = 0, result }: Ending) {
  return {
    usage: run.usage,
    cost_micros: microsOf(BigInt(run.costPicos)),
    cost_picos: run.costPicos,
    unpriced_calls: run.unpricedCalls,
    ...((run.estimatedCalls ?? 0) > 0 && { estimated: true as const }),
    ...(reservedMicros > 0 && { reserved_micros: reservedMicros }),
    ...((run.simulatedCalls ?? 0) > 0 && { simulated: true as const }),
    files_generated: run.filesGenerated,
    duration_ms: Math.max(0, now - Date.parse(run.startedAt)),
    ...(result && { result }),
  };
}
