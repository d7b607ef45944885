import { type JsonObject, type Usage, isJsonObject } from "@skein/protocol";

/** Token counts of an API that counts cached input as part of the prompt, and reasoning as part of the answer. */
export interface Counts {
  readonly prompt: unknown;
  readonly answer: unknown;
  readonly read: unknown;
  readonly written: unknown;
  readonly reasoning: unknown;
}

/** The counts in the format of the log; undefined if they are missing or contradict each other. */
export function countedUsage({ prompt, answer, read, written, reasoning }: Counts): Usage | undefined {
  const [all, output, cached, kept, thought] = [prompt, answer, read ?? 0, written ?? 0, reasoning ?? 0];
  if (!isCount(all) || !isCount(output) || !isCount(cached) || !isCount(kept) || !isCount(thought)) return undefined;
  // Cached tokens are part of the prompt. If there are more of them than in the prompt, the usage is unknown.
  if (cached + kept > all) return undefined;
  return {
    input_tokens: all - cached - kept,
    output_tokens: output,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: kept,
    ...(thought > 0 && { output_tokens_details: { thinking_tokens: thought } }),
  };
}

/** An object inside another object; empty if it is missing. */
export function objectIn(value: unknown, key: string): JsonObject {
  const inner = isJsonObject(value) ? value[key] : undefined;
  return isJsonObject(inner) ? inner : {};
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
