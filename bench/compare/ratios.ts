/** Compares the lines of a benchmark with the lines at an earlier commit. */
import { median } from "../store/results.ts";
import type { Line } from "./bench-output.ts";

/** The measurements of both checkouts in one round. */
export interface Round {
  readonly earlier: readonly Line[];
  readonly now: readonly Line[];
}

export interface Compared {
  readonly what: string;
  readonly store: string;
  readonly unit: string;
  /** The medians of the rounds. */
  readonly earlier: number;
  readonly now: number;
  /** The median of the rounds' ratios. A ratio above 1 means slower, or a larger amount. */
  readonly ratio: number;
  readonly lowest: number;
  readonly highest: number;
}

/** Compares the lines of two commits. A line is left out if a commit lacks it, or if no round has positive values. */
export function compare(rounds: readonly Round[]): readonly Compared[] {
  const lines = rounds[0]?.now ?? [];
  return lines.flatMap(({ what, store, unit }) => {
    const is = (line: Line): boolean => line.what === what && line.store === store;
    const pairs = rounds.flatMap((round) => {
      const earlier = round.earlier.find(is)?.value ?? 0;
      const now = round.now.find(is)?.value ?? 0;
      return earlier > 0 && now > 0 ? [{ earlier, now }] : [];
    });
    if (pairs.length === 0) return [];
    // Higher values are better only for rates (per second).
    const ratios = pairs.map(({ earlier, now }) => (unit.endsWith("/s") ? earlier / now : now / earlier));
    return {
      what,
      store,
      unit,
      earlier: median(pairs.map(({ earlier }) => earlier)),
      now: median(pairs.map(({ now }) => now)),
      ratio: median(ratios),
      lowest: Math.min(...ratios),
      highest: Math.max(...ratios),
    };
  });
}
