import type { RunModel, UsageTotals } from "@skein/protocol";
import { dollarsOf, joinedAmount, microsOf } from "@skein/protocol";

/** Counters of a session or a run. They only grow. */
export interface Counters extends UsageTotals {
  /**
   * The cost has two parts (see `splitAmount`): the whole micro-dollars of each call, and the remaining pico-dollars.
   */
  cost_micros: number;
  cost_rest: number;
  unpriced_calls: number;
  estimated_calls: number;
  simulated_calls: number;
}

/**
 * The counters of a run. They also split its cost by kind, for the agent tables. The cost of server tools is only in
 * the total.
 */
export interface RunCounters extends Counters {
  input_micros: number;
  output_micros: number;
  cache_write_micros: number;
  cache_read_micros: number;
  input_rest: number;
  output_rest: number;
  cache_write_rest: number;
  cache_read_rest: number;
}

/** The names of the counters. SQL functions of the PostgreSQL store depend on their order. */
export const COUNTERS = [
  "cost_micros",
  "unpriced_calls",
  "input_tokens",
  "output_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
  "cost_rest",
  "estimated_calls",
  "simulated_calls",
] as const satisfies readonly (keyof Counters)[];

/** The names of the counters of a run. SQL functions of the PostgreSQL store depend on their order. */
export const RUN_COUNTERS = [
  ...COUNTERS,
  "input_micros",
  "output_micros",
  "cache_write_micros",
  "cache_read_micros",
  "input_rest",
  "output_rest",
  "cache_write_rest",
  "cache_read_rest",
] as const satisfies readonly (keyof RunCounters)[];

/**
 * Returns counters of 0. The code names every counter, because a loop would be slower and every append makes several of
 * these objects.
 */
export function noCounters(): Counters {
  return {
    cost_micros: 0,
    unpriced_calls: 0,
    input_tokens: 0,
    output_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    cost_rest: 0,
    estimated_calls: 0,
    simulated_calls: 0,
  };
}

export function noRunCounters(): RunCounters {
  return {
    ...noCounters(),
    input_micros: 0,
    output_micros: 0,
    cache_write_micros: 0,
    cache_read_micros: 0,
    input_rest: 0,
    output_rest: 0,
    cache_write_rest: 0,
    cache_read_rest: 0,
  };
}

/**
 * Returns the exact cost and the rounded cost of counters, and how many calls were estimated, simulated or unpriced.
 */
export function costTotals(counters: Omit<Counters, keyof UsageTotals>): Omit<RunModel, "model" | keyof UsageTotals> {
  const { cost_micros, cost_rest, unpriced_calls, estimated_calls, simulated_calls } = counters;
  const picos = joinedAmount({ micros: cost_micros, rest: cost_rest });
  return {
    cost_micros: microsOf(picos),
    cost_picos: String(picos),
    unpriced_calls,
    estimated_calls,
    simulated_calls,
  };
}

export function usageTotals(counters: UsageTotals): UsageTotals {
  const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens } = counters;
  return { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens };
}

export function modelTotals(used: Counters & { readonly model: string }): RunModel {
  return { model: used.model, ...usageTotals(used), ...costTotals(used) };
}

/** Returns the cost of a run by kind, in dollars for display. */
export function dollarParts(counters: RunCounters) {
  const amount = (micros: number, rest: number): bigint => joinedAmount({ micros, rest });
  const input = amount(counters.input_micros, counters.input_rest);
  const output = amount(counters.output_micros, counters.output_rest);
  const cacheWrite = amount(counters.cache_write_micros, counters.cache_write_rest);
  const cacheRead = amount(counters.cache_read_micros, counters.cache_read_rest);
  const total = amount(counters.cost_micros, counters.cost_rest);
  return {
    input_cost: dollarsOf(input),
    output_cost: dollarsOf(output),
    cache_write_cost: dollarsOf(cacheWrite),
    cache_read_cost: dollarsOf(cacheRead),
    server_tool_cost: dollarsOf(total - input - output - cacheWrite - cacheRead),
    total_cost: dollarsOf(total),
  };
}
