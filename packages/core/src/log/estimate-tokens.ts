import { jsonSize } from "./json-size.ts";

/** A quick guess at the tokens of something that will be sent as JSON: four bytes each. The model's own count replaces it. */
export function estimateTokens(value: unknown): number {
  return Math.ceil((typeof value === "string" ? value.length : jsonSize(value)) / 4);
}
