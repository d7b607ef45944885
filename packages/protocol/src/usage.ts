import { z } from "zod";

const Tokens = z.int().nonnegative();

/** The usage of a model call in the format of the Messages API. `input_tokens` does not include cached tokens. */
export const Usage = z.looseObject({
  input_tokens: Tokens,
  output_tokens: Tokens,
  cache_creation_input_tokens: Tokens.nullish(),
  cache_read_input_tokens: Tokens.nullish(),
  cache_creation: z
    .looseObject({
      ephemeral_5m_input_tokens: Tokens.optional(),
      ephemeral_1h_input_tokens: Tokens.optional(),
    })
    .nullish(),
  server_tool_use: z.looseObject({ web_search_requests: Tokens.optional() }).nullish(),
});
export type Usage = z.infer<typeof Usage>;

/** The token counts of a run or a session. Every answered model call is counted once. */
export const UsageTotals = z.object({
  input_tokens: Tokens,
  output_tokens: Tokens,
  cache_creation_input_tokens: Tokens,
  cache_read_input_tokens: Tokens,
});
export type UsageTotals = z.infer<typeof UsageTotals>;

export const NO_USAGE: UsageTotals = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
};

const Micros = z.int().nonnegative();

/** An exact amount in pico-dollars, as decimal text (see money.ts). */
export const Picos = z.string().regex(/^\d{1,30}$/, "Expected pico-dollars as decimal text.");

/**
 * The cost of a model call. `picos` has exact amounts for sums. Amounts in micro-dollars are rounded for display.
 */
export const CallCost = z.object({
  model: z.string(),
  input_micros: Micros,
  output_micros: Micros,
  cache_write_micros: Micros,
  cache_read_micros: Micros,
  server_tool_micros: Micros,
  total_micros: Micros,
  /** Missing in facts from before 2026-11-16. */
  picos: z
    .object({
      input: Picos,
      output: Picos,
      cache_write: Picos,
      cache_read: Picos,
      server_tool: Picos,
      total: Picos,
    })
    .optional(),
  long_context_applied: z.boolean(),
});
export type CallCost = z.infer<typeof CallCost>;

/** The cost of a run, a session or a group of runs. */
export const CostTotals = {
  /** Rounded from `cost_picos` for display. */
  cost_micros: Micros,
  /** The exact cost in pico-dollars, as decimal text. */
  cost_picos: Picos,
  /** The number of calls without a price. No total includes their cost. */
  unpriced_calls: Tokens,
  /**
   * The number of calls with estimated usage. Their answers broke off or came without token counts, so output tokens
   * are estimated from the received text.
   */
  estimated_calls: Tokens,
  /** The number of calls that the built-in simulation answered. Such calls cost nothing. */
  simulated_calls: Tokens,
};

/** The cost of a run in the format of the agent tables, in dollars. The input tokens include cached tokens. */
export const CostBreakdown = z.object({
  input_cost: z.number(),
  output_cost: z.number(),
  cache_write_cost: z.number(),
  cache_read_cost: z.number(),
  /** Fees of server tools, such as web searches. */
  server_tool_cost: z.number(),
  total_cost: z.number(),
  total_input_tokens: Tokens,
  total_output_tokens: Tokens,
  total_cache_creation_tokens: Tokens,
  total_cache_read_tokens: Tokens,
  model_id: z.string(),
  long_context_applied: z.boolean(),
  currency: z.literal("USD"),
});
export type CostBreakdown = z.infer<typeof CostBreakdown>;

/** Adds two usages. Missing counts are 0. */
export function addUsage(totals: UsageTotals, usage: Usage): UsageTotals {
  return {
    input_tokens: totals.input_tokens + usage.input_tokens,
    output_tokens: totals.output_tokens + usage.output_tokens,
    cache_creation_input_tokens: totals.cache_creation_input_tokens + (usage.cache_creation_input_tokens ?? 0),
    cache_read_input_tokens: totals.cache_read_input_tokens + (usage.cache_read_input_tokens ?? 0),
  };
}
