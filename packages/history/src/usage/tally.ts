import { dollarsOf, joinedAmount, microsOf } from "@skein/protocol/prices";
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
  /** Exact, in pico-dollars. Undefined if the model has no price. */
  readonly costPicos: number | undefined;
}

/** One object that is reused for each call, because there are hundreds of thousands of calls. */
export type ReusedCall = { -readonly [Field in keyof PricedCall]: PricedCall[Field] };

const NO_COUNTS = {
  inputTokens: 0,
  outputTokens: 0,
  cacheCreationInputTokens: 0,
  cacheCreation1hInputTokens: 0,
  cacheReadInputTokens: 0,
  webSearchRequests: 0,
  calls: 0,
};

export function newPricedCall(): ReusedCall {
  return { time: 0, model: "", ...NO_COUNTS, costPicos: undefined };
}

/** Adds up calls. The costs are added exactly and rounded at the end, so every grouping gives the same total. */
export interface Tally {
  add(call: PricedCall): void;
  /** Adds everything that another tally has. */
  join(other: Tally): void;
  totals(): UsageTotals;
  readonly sums: Sums;
}

type Sums = typeof NO_COUNTS & {
  unpricedCalls: number;
  /** Two sums of integers, because a single sum of pico-dollars would exceed an exact number at $9,007. */
  readonly cost: { micros: number; rest: number };
};

export function createTally(): Tally {
  const sums: Sums = { ...NO_COUNTS, unpricedCalls: 0, cost: { micros: 0, rest: 0 } };
  return {
    sums,
    add(call) {
      addCounts(sums, call);
      if (call.costPicos === undefined) {
        sums.unpricedCalls += call.calls;
        return;
      }
      sums.cost.micros += Math.floor(call.costPicos / 1_000_000);
      sums.cost.rest += call.costPicos % 1_000_000;
    },
    join({ sums: other }) {
      addCounts(sums, other);
      sums.unpricedCalls += other.unpricedCalls;
      sums.cost.micros += other.cost.micros;
      sums.cost.rest += other.cost.rest;
    },
    totals() {
      const { cost, ...counts } = sums;
      const picos = joinedAmount(cost);
      return { ...counts, costMicros: microsOf(picos), costUsd: dollarsOf(picos) };
    },
  };
}

function addCounts(sums: Sums, added: typeof NO_COUNTS): void {
  sums.inputTokens += added.inputTokens;
  sums.outputTokens += added.outputTokens;
  sums.cacheCreationInputTokens += added.cacheCreationInputTokens;
  sums.cacheCreation1hInputTokens += added.cacheCreation1hInputTokens;
  sums.cacheReadInputTokens += added.cacheReadInputTokens;
  sums.webSearchRequests += added.webSearchRequests;
  sums.calls += added.calls;
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

/** A tally for each key, and for each model of each key. */
export interface SplitTallies {
  add(key: string, call: PricedCall): void;
  entries(): [string, UsageTotals & { readonly models: readonly (UsageTotals & { readonly model: string })[] }][];
}

export function createSplitTallies(): SplitTallies {
  const all = createTallies<string>();
  const split = new Map<string, ReturnType<typeof createTallies<string>>>();
  return {
    add(key, call) {
      all.for(key).add(call);
      let models = split.get(key);
      if (!models) split.set(key, (models = createTallies()));
      models.for(call.model).add(call);
    },
    entries: () =>
      all.entries().map(([key, sum]) => {
        const models = (split.get(key)?.entries() ?? []).map(([model, part]) => ({ model, ...part }));
        return [key, { ...sum, models: models.sort((a, b) => b.costMicros - a.costMicros) }];
      }),
  };
}
