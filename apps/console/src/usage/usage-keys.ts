/** The groups into which the chart divides each day. A group has a value in the URL and a label. */
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
