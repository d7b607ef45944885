import { jsonSize } from "./json-size.ts";

/**
 * A quick guess at the tokens of something that will be sent as JSON: four bytes each. Replaced by the model's own count when
 * that is known.
 */
export function estimateTokens(value: unknown): number {
  return Math.ceil((typeof value === "string" ? value.length : jsonSize(value)) / 4);
}
