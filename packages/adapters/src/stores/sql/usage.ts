import type { UsageQuery } from "@skein/core";
import type { UsageRow } from "@skein/protocol";

/** What is added up, in the order of the columns after the key. */
export const USAGE_COUNTERS = [
  "input_tokens",
  "output_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
  "cost_micros",
  "unpriced_calls",
] as const satisfies readonly (keyof UsageRow)[];

/** What usage is grouped by, but for the day, which each database writes in its own way. */
export const USAGE_KEYS: Readonly<Record<Exclude<UsageQuery["by"], "day">, string>> = {
  // A run that has not heard from a model yet is counted for its session's.
  model: "coalesce(nullif(r.model, ''), s.model)",
  agent: "s.agent_id",
  session: "s.id",
};
