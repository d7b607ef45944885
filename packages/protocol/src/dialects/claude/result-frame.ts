import { type JsonObject, isJsonObject } from "../../content.ts";
import type { Event } from "../../event.ts";
import { microsOf } from "../../money.ts";
import type { UsageTotals } from "../../usage.ts";
import type { ResultEventData, StreamEvent } from "./responses.ts";

type Ended = Extract<Event, { event_type: "session.completed" | "session.failed" }>;

export interface RunTotals {
  readonly sessionId: string;
  /** The cost of the session in pico-dollars, this run included; null if unknown. */
  readonly spent: bigint | null;
  readonly byModel: ReadonlyMap<string, UsageTotals>;
}

/**
 * Fields of the SDK's result that are not copied. Some have another name in the Claude API. Skein computes the rest,
 * because the SDK adds them up over all runs and the Claude API needs them for one run.
 */
export const RESULT_LEFT_OUT: readonly string[] = [
  "type",
  "session_id",
  "is_error",
  "num_turns",
  "duration_ms",
  "total_cost_usd",
  "usage",
  "modelUsage",
  "model_usage_since_last_result",
  "result",
  "structured_output",
  "stop_reason",
];

export function resultData(event: Ended, { sessionId, spent, byModel }: RunTotals): ResultEventData {
  const own = event.data.result ?? {};
  return {
    ...resultOfRun(event, sessionId),
    model_usage: Object.fromEntries(byModel),
    session_total_cost_usd: spent === null ? null : dollars(microsOf(spent)),
    ...(isJsonObject(own["modelUsage"]) && { session_model_usage: snakeUsage(own["modelUsage"]) }),
  };
}

/** Returns the part of the result that needs only the event. */
export function resultOfRun(event: Ended, sessionId: string) {
  const { data } = event;
  const own = data.result ?? {};
  const rest = Object.fromEntries(Object.entries(own).filter(([key]) => !RESULT_LEFT_OUT.includes(key)));
  const isError = event.event_type === "session.failed";
  return {
    ...rest,
    session_id: sessionId,
    is_error: isError,
    duration_ms: data.duration_ms,
    num_turns: count(own["num_turns"]) ?? data.step,
    total_cost_usd: data.unpriced_calls > 0 ? null : dollars(data.cost_micros),
    usage: data.usage,
    ...(data.simulated && { simulated: true as const }),
    result: isError ? words(own["result"]) : event.data.final_response,
    structured_output: own["structured_output"] ?? null,
    is_complete: !isError,
    stop_reason: stopReason(event),
    ...(own["stop_reason"] !== undefined && { model_stop_reason: own["stop_reason"] }),
  };
}

function stopReason(event: Ended): ResultEventData["stop_reason"] {
  if (event.data.stop_reason === "max_steps") return "max_turns_reached";
  if (event.event_type === "session.completed") return "completed";
  return event.data.outcome === "cancelled" ? "interrupted" : "error";
}

export function doneReason(event: Ended): "completed" | "interrupted" | "error" {
  if (event.event_type === "session.completed") return "completed";
  return event.data.outcome === "cancelled" ? "interrupted" : "error";
}

/** Returns why a run failed, or undefined if the run was completed or cancelled. */
export function errorData(event: Ended): Extract<StreamEvent, { event: "error" }>["data"] | undefined {
  if (event.event_type === "session.completed" || event.data.outcome === "cancelled") return undefined;
  const { code, message, status } = event.data.error;
  const isOutput = code === "structured_output";
  return {
    code: isOutput ? "STRUCTURED_OUTPUT_VALIDATION_ERROR" : "AGENT_ERROR",
    message,
    details: { code, ...(status !== undefined && { status }) },
  };
}

/** Converts millionths of a dollar to dollars. */
export function dollars(micros: number): number {
  return micros / 1_000_000;
}

/** Renames the keys of the SDK's usage for the Claude API: `inputTokens` to `input_tokens`, `costUSD` to `cost_usd`. */
function snakeUsage(byModel: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(byModel).map(([model, usage]) => [
      model,
      Object.fromEntries(Object.entries(isJsonObject(usage) ? usage : {}).map(([key, value]) => [snake(key), value])),
    ]),
  );
}

function snake(key: string): string {
  return key.replace("USD", "Usd").replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function count(value: unknown): number | undefined {
  return Number.isInteger(value) ? (value as number) : undefined;
}

function words(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
