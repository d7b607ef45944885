import { type Fact, type FactData, exactCost, splitAmount } from "@skein/protocol";
import { type RunCounters, noRunCounters } from "./counters.ts";

/** The usage and the cost of a model call, as a fact records them. */
export type CountedCall = Pick<FactData<"step.abandoned">, "usage" | "cost" | "estimated" | "simulated">;

/**
 * Returns the model call whose usage an event records. The call may be complete, broken off, or from a Claude Code
 * subagent.
 */
export function callIn(event: Fact): (CountedCall & { readonly run_id: string; readonly model: string }) | undefined {
  switch (event.event_type) {
    case "step.generated":
    case "step.abandoned":
      return event.data;
    case "step.retried":
    case "step.error":
      return event.data.lost && { run_id: event.data.run_id, ...event.data.lost };
    case "subagent.messaged": {
      const { usage, cost, run_id, model, simulated } = event.data;
      return usage ? { run_id, model: model ?? "", usage, cost, simulated } : undefined;
    }
    default:
      return undefined;
  }
}

/** What one model call adds to the counters of its session and its run. */
export function countedCall({ usage, cost, estimated, simulated }: CountedCall): RunCounters {
  const counters = noRunCounters();
  counters.input_tokens = usage.input_tokens;
  counters.output_tokens = usage.output_tokens;
  counters.cache_creation_input_tokens = usage.cache_creation_input_tokens ?? 0;
  counters.cache_read_input_tokens = usage.cache_read_input_tokens ?? 0;
  counters.estimated_calls = estimated ? 1 : 0;
  counters.simulated_calls = simulated ? 1 : 0;
  counters.unpriced_calls = cost ? 0 : 1;
  if (!cost) return counters;
  const exact = exactCost(cost);
  ({ micros: counters.cost_micros, rest: counters.cost_rest } = splitAmount(exact.total));
  ({ micros: counters.input_micros, rest: counters.input_rest } = splitAmount(exact.input));
  ({ micros: counters.output_micros, rest: counters.output_rest } = splitAmount(exact.output));
  ({ micros: counters.cache_write_micros, rest: counters.cache_write_rest } = splitAmount(exact.cache_write));
  ({ micros: counters.cache_read_micros, rest: counters.cache_read_rest } = splitAmount(exact.cache_read));
  return counters;
}
