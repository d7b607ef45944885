import { type JsonObject, type Usage, isJsonObject } from "@skein/protocol";

/** Token counts of an API. `prompt` includes cached input, and `answer` includes reasoning. */
export interface Counts {
  readonly prompt: unknown;
  readonly answer: unknown;
  readonly read: unknown;
  readonly written: unknown;
  readonly reasoning: unknown;
}

/** Converts the counts to the format of the log. Returns undefined if counts are missing or contradict each other. */
export function countedUsage({ prompt, answer, read, written, reasoning }: Counts): Usage | undefined {
  const [all, output, cached, kept, thought] = [prompt, answer, read ?? 0, written ?? 0, reasoning ?? 0];
  if (!isCount(all) || !isCount(output) || !isCount(cached) || !isCount(kept) || !isCount(thought)) return undefined;
  // Cached tokens are part of the prompt. A cached count above the prompt's count is an error.
  if (cached + kept > all) return undefined;
  return {
    input_tokens: all - cached - kept,
    output_tokens: output,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: kept,
    ...(thought > 0 && { output_tokens_details: { thinking_tokens: thought } }),
  };
}

/** Returns an object inside a value, or an empty object if it is missing. */
export function objectIn(value: unknown, key: string): JsonObject {
  const inner = isJsonObject(value) ? value[key] : undefined;
  return isJsonObject(inner) ? inner : {};
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
