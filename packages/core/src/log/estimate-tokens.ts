/** A quick guess at the tokens of something that will be sent as JSON: four bytes each. The model's own count replaces it. */
export function estimateTokens(value: unknown): number {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return Math.ceil((text?.length ?? 0) / 4);
}
