/** The keys by which the chart's days are divided: the value in the URL, and its label. */
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
