import type { Counters, UsageQuery } from "@skein/core";

/** What usage is grouped by, but for the day, which each database writes in its own way. */
export const USAGE_KEYS: Readonly<Record<Exclude<UsageQuery["by"], "day">, string>> = {
  // A run that has not heard from a model yet is counted for its session's.
  model: "coalesce(m.model, s.model)",
  agent: "s.agent_id",
  session: "s.id",
};

/** By model, each run is as many rows as it has models; otherwise its own row has the sums. */
export function usageSum(by: UsageQuery["by"], name: keyof Counters): string {
  return by === "model" ? `sum(coalesce(m.${name}, 0))` : `sum(r.${name})`;
}
