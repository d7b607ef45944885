import { jsonSize } from "./json-size.ts";

/**
 * A quick estimate of the tokens of a value that is sent as JSON: one token for each four characters. The model's own
 * count replaces the estimate when it is known.
 */
export function estimateTokens(value: unknown): number {
  return Math.ceil((typeof value === "string" ? value.length : jsonSize(value)) / 4);
}
