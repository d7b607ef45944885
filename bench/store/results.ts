import { table } from "../table.ts";

/** One line of the report. */
export interface Result {
  readonly what: string;
  readonly store: string;
  readonly value: number;
  readonly unit: string;
  /** The bare database or file system, measured in the same run. */
  readonly floor?: number;
  /** How many times slower than the floor. */
  readonly ratio?: number;
  /** The goal in words; undefined if the line is only for information. */
  readonly goal?: string;
  readonly passed?: boolean;
  readonly note?: string;
}

export function printed(results: readonly Result[]): string {
  const rows = results.map(({ what, store, value, unit, floor, ratio, goal, passed, note }) => [
    what,
    store,
    `${figure(value)} ${unit}`,
    floor === undefined ? "" : `${figure(floor)} ${unit}`,
    ratio === undefined ? "" : ratio.toFixed(2),
    goal ?? "",
    passed === undefined ? "" : passed ? "ok" : "MISSED",
    note ?? "",
  ]);
  return table(["what", "store", "measured", "floor", "ratio", "goal", "", "note"], rows);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = 0, high = 0] =
    sorted.length % 2 === 0 ? [sorted[middle - 1], sorted[middle]] : [sorted[middle], sorted[middle]];
  return (low + high) / 2;
}

/** Returns the value that this share (0 to 1) of the values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

/** A number in a short form. */
export function figure(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString("en");
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2);
}
