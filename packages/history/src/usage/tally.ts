import type { UsageTotals } from "./usage-report.ts";

/** One counted call with its cost, ready to be added up in any grouping. */
export interface PricedCall {
  readonly time: number;
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheCreationInputTokens: number;
  readonly cacheCreation1hInputTokens: number;
  readonly cacheReadInputTokens: number;
  readonly webSearchRequests: number;
  readonly calls: number;
  /** Undefined: the model has no price. */
  readonly costMicros: number | undefined;
}

/** Adds up calls. The costs are integers, so every grouping gives the same total. */
export interface Tally {
  add(call: PricedCall): void;
  totals(): UsageTotals;
}

export function createTally(): Tally {
  const sum = {
    inputTokens: 0,
    outputTokens: 0,
    cacheCreationInputTokens: 0,
    cacheCreation1hInputTokens: 0,
    cacheReadInputTokens: 0,
    webSearchRequests: 0,
    calls: 0,
    costMicros: 0,
    unpricedCalls: 0,
  };
  return {
    add(call) {
      sum.inputTokens += call.inputTokens;
      sum.outputTokens += call.outputTokens;
      sum.cacheCreationInputTokens += call.cacheCreationInputTokens;
      sum.cacheCreation1hInputTokens += call.cacheCreation1hInputTokens;
      sum.cacheReadInputTokens += call.cacheReadInputTokens;
      sum.webSearchRequests += call.webSearchRequests;
      sum.calls += call.calls;
      if (call.costMicros === undefined) sum.unpricedCalls += call.calls;
      else sum.costMicros += call.costMicros;
    },
    totals: () => ({ ...sum, costUsd: sum.costMicros / 1_000_000 }),
  };
}

/** A tally for each key, in the order in which keys first appear. */
export function createTallies<Key>(): { for(key: Key): Tally; entries(): [Key, UsageTotals][] } {
  const tallies = new Map<Key, Tally>();
  return {
    for(key) {
      const known = tallies.get(key);
      if (known) return known;
      const tally = createTally();
      tallies.set(key, tally);
      return tally;
    },
    entries: () => [...tallies].map(([key, tally]) => [key, tally.totals()]),
  };
}
