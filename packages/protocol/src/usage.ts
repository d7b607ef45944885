import { z } from "zod";

const Tokens = z.int().nonnegative();

/** What one model call used, as the Messages API reports it. `input_tokens` does not include the cached ones. */
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

/** The four counters of a run or a session, added up once per answered model call. */
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

/** What one model call cost, in millionths of a dollar, rounded once. The parts add up to the total. */
export const CallCost = z.object({
  model: z.string(),
  input_micros: Micros,
  output_micros: Micros,
  cache_write_micros: Micros,
  cache_read_micros: Micros,
  server_tool_micros: Micros,
  total_micros: Micros,
  long_context_applied: z.boolean(),
});
export type CallCost = z.infer<typeof CallCost>;

/** The cost of a run as the agent tables show it: dollars, and token totals in which input includes what was cached. */
export const CostBreakdown = z.object({
  input_cost: z.number(),
  output_cost: z.number(),
  cache_write_cost: z.number(),
  cache_read_cost: z.number(),
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

/** The sum of two usages, every absent counter as 0. */
export function addUsage(totals: UsageTotals, usage: Usage): UsageTotals {
  return {
    input_tokens: totals.input_tokens + usage.input_tokens,
    output_tokens: totals.output_tokens + usage.output_tokens,
    cache_creation_input_tokens: totals.cache_creation_input_tokens + (usage.cache_creation_input_tokens ?? 0),
    cache_read_input_tokens: totals.cache_read_input_tokens + (usage.cache_read_input_tokens ?? 0),
  };
}
