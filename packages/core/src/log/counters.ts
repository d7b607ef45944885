/** Counters of a session or a run that only grow. */
export interface Counters {
  cost_micros: number;
  unpriced_calls: number;
  input_tokens: number;
  output_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
}

/** A run's money by kind, so that the agent tables' breakdown is a sum and not a second calculation. */
export interface RunCounters extends Counters {
  input_micros: number;
  output_micros: number;
  cache_write_micros: number;
  cache_read_micros: number;
}

export function noRunCounters(): RunCounters {
  return { ...noCounters(), input_micros: 0, output_micros: 0, cache_write_micros: 0, cache_read_micros: 0 };
}

/** In an order that PostgreSQL's functions rely on. */
export const COUNTERS = [
  "cost_micros",
  "unpriced_calls",
  "input_tokens",
  "output_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
] as const satisfies readonly (keyof Counters)[];

export function noCounters(): Counters {
  return {
    cost_micros: 0,
    unpriced_calls: 0,
    input_tokens: 0,
    output_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
  };
}
