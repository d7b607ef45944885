/**
 * Reads the token counts of Codex. Each event contains the sum for the thread, and since 2025 also the tokens of the
 * last response. Since version 0.153, a separate record with the id of the response comes before the event.
 */
import { isObject, numberOf, objectOf, type Value } from "../../model/value.ts";
import type { CallTokens } from "../port/transcript-writer.ts";

interface Counts {
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  readonly output: number;
  readonly reasoning: number;
  readonly total: number;
}

export interface TokenCounts {
  /**
   * Returns the tokens of the response in this event. Returns undefined if the event has no response, or if a record
   * already counted it.
   */
  read(info: unknown): CallTokens | undefined;
  /** Returns the tokens of the response in a record. */
  record(usage: unknown): CallTokens | undefined;
}

export function createTokenCounts(): TokenCounts {
  let before: Counts | undefined;
  let recorded: Counts | undefined;
  const isRecorded = (counts: Counts): boolean => {
    const { input, cached, output } = recorded ?? {};
    const isSame = input === counts.input && cached === counts.cached && output === counts.output;
    if (isSame) recorded = undefined;
    return isSame;
  };
  return {
    record(usage) {
      if (!isObject(usage)) return undefined;
      recorded = countsOf(usage);
      return recorded.input + recorded.output > 0 ? tokensOf(recorded) : undefined;
    },
    read(info) {
      if (!isObject(info) || !isObject(info["total_token_usage"])) return undefined;
      const total = countsOf(info["total_token_usage"]);
      const previous = before;
      before = total;
      // An event may repeat the previous sum, for example to report rate limits.
      if (previous && same(previous, total)) return undefined;
      // If the sum is smaller than before, the context was full and Codex reset its counters.
      const isNew = !previous || total.input < previous.input || total.output < previous.output;
      const last = isObject(info["last_token_usage"]) ? countsOf(info["last_token_usage"]) : undefined;
      // A compaction may change the sum without a response. In this case, the last response has no tokens.
      const response = last ?? (isNew ? total : difference(total, previous));
      return response.input + response.output > 0 && !isRecorded(response) ? tokensOf(response) : undefined;
    },
  };
}

function countsOf(value: Value): Counts {
  const of = (key: string): number => Math.max(0, numberOf(objectOf(value)[key]) ?? 0);
  return {
    input: of("input_tokens"),
    cached: of("cached_input_tokens"),
    written: of("cache_write_input_tokens"),
    output: of("output_tokens"),
    reasoning: of("reasoning_output_tokens"),
    total: of("total_tokens"),
  };
}

function same(a: Counts, b: Counts): boolean {
  return a.input === b.input && a.cached === b.cached && a.output === b.output && a.total === b.total;
}

function difference(a: Counts, b: Counts): Counts {
  return {
    input: a.input - b.input,
    cached: a.cached - b.cached,
    written: a.written - b.written,
    output: a.output - b.output,
    reasoning: a.reasoning - b.reasoning,
    total: a.total - b.total,
  };
}

/**
 * Converts the counts. Codex's input includes tokens read from the cache and written to it, and its output includes
 * reasoning.
 */
function tokensOf({ input, cached, written, output, reasoning }: Counts): CallTokens {
  return {
    input: Math.max(0, input - cached - written),
    cacheRead: cached,
    cacheWrite: written,
    output,
    reasoning,
  };
}
