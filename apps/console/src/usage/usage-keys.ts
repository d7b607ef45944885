/** What the days of the chart are divided by: the value in the address, and its words. */
export const USAGE_KEYS = [
  ["model", "Model"],
  ["agent", "Agent"],
  ["project", "Project"],
  ["tool", "Tool"],
  ["key", "Key"],
] as const;
export type UsageKey = (typeof USAGE_KEYS)[number][0];

export function usageKeyOf(value: string | null): UsageKey {
  return USAGE_KEYS.find(([key]) => key === value)?.[0] ?? "model";
}
