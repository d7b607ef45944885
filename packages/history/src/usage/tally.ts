/** Adds up calls. Costs are added exactly and rounded at the end, so every grouping gives the same total. */
import { dollarsOf, joinedAmount, microsOf } from "@skein/protocol/prices";
import type { UsageTotals } from "./usage-report.ts";

/** One call with its cost, which can be added to any group. */
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
  /** The exact cost in pico-dollars, or undefined if the model has no price. */
  readonly costPicos: number | undefined;
}

/** A call that may be changed. A report has hundreds of thousands of calls, so one object is reused for all of them. */
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

/** The sums of several calls. A plain object, because a report has one for each of thousands of sessions. */
export interface Tally extends Counts {
  unpricedCalls: number;
  /**
   * The cost as two sums of integers. `micros` counts whole micro-dollars, and `rest` the remaining pico-dollars. A
   * single sum of pico-dollars would not be exact above $9,007.
   */
  micros: number;
  rest: number;
}

type Counts = typeof NO_COUNTS;

export function newTally(): Tally {
  return { ...NO_COUNTS, unpricedCalls: 0, micros: 0, rest: 0 };
}

export function addCall(tally: Tally, call: PricedCall): void {
  addCounts(tally, call);
  if (call.costPicos === undefined) {
    tally.unpricedCalls += call.calls;
    return;
  }
  tally.micros += Math.floor(call.costPicos / 1_000_000);
  tally.rest += call.costPicos % 1_000_000;
}

export function addTally(tally: Tally, added: Tally): void {
  addCounts(tally, added);
  tally.unpricedCalls += added.unpricedCalls;
  tally.micros += added.micros;
  tally.rest += added.rest;
}

function addCounts(counts: Counts, added: Counts): void {
  counts.inputTokens += added.inputTokens;
  counts.outputTokens += added.outputTokens;
  counts.cacheCreationInputTokens += added.cacheCreationInputTokens;
  counts.cacheCreation1hInputTokens += added.cacheCreation1hInputTokens;
  counts.cacheReadInputTokens += added.cacheReadInputTokens;
  counts.webSearchRequests += added.webSearchRequests;
  counts.calls += added.calls;
}

export function totalsOf({ micros, rest, ...counts }: Tally): UsageTotals {
  const picos = joinedAmount({ micros, rest });
  return { ...counts, costMicros: microsOf(picos), costUsd: dollarsOf(picos) };
}

/** One tally for each key. `entries` returns keys in the order in which they were first added. */
export interface Tallies<Key> {
  add(key: Key, added: Tally): void;
  entries(): [Key, UsageTotals][];
}

export function createTallies<Key>(): Tallies<Key> {
  const tallies = new Map<Key, Tally>();
  return {
    add(key, added) {
      let tally = tallies.get(key);
      if (!tally) tallies.set(key, (tally = newTally()));
      addTally(tally, added);
    },
    entries: () => [...tallies].map(([key, tally]) => [key, totalsOf(tally)]),
  };
}

/** One tally for each key, and one for each model of a key. */
export interface SplitTallies {
  add(key: string, model: string, added: Tally): void;
  entries(): [string, UsageTotals & { readonly models: readonly (UsageTotals & { readonly model: string })[] }][];
}

export function createSplitTallies(): SplitTallies {
  const all = createTallies<string>();
  const split = new Map<string, Tallies<string>>();
  return {
    add(key, model, added) {
      all.add(key, added);
      let models = split.get(key);
      if (!models) split.set(key, (models = createTallies()));
      models.add(model, added);
    },
    entries: () =>
      all.entries().map(([key, sum]) => {
        const models = (split.get(key)?.entries() ?? []).map(([model, part]) => ({ model, ...part }));
        return [key, { ...sum, models: models.sort((a, b) => b.costMicros - a.costMicros) }];
      }),
  };
}
