import type { ToolUsageRow, UsageRow } from "../api/api.ts";

/** A figure of one day and one model, agent, project, API key or tool. */
export interface DayCell {
  readonly day: string;
  readonly key: string;
  readonly value: number;
}

export function costCells(rows: readonly UsageRow[]): readonly DayCell[] {
  return rows.map(({ key, second_key = "", cost_micros }) => ({ day: key, key: second_key, value: cost_micros }));
}

export function callCells(rows: readonly ToolUsageRow[]): readonly DayCell[] {
  return rows.map(({ day, tool, calls }) => ({ day, key: tool, value: calls }));
}

/** A bar has at most one part more than this: a fifth name or "Others". More colours would be hard to tell apart. */
const MOST_SERIES = 4;
const OTHERS = "Others";

export interface DayTable {
  /** The names of the parts, the largest first. Small ones are combined into one part. */
  readonly series: readonly string[];
  /** The total of each part over all days. */
  readonly totals: readonly number[];
  readonly valuesOf: (day: string) => readonly number[];
}

/** Divides the value of each day into parts. `nameOf` returns the display name of a key. */
export function dayTable(cells: readonly DayCell[], nameOf: (key: string) => string): DayTable {
  const totals = new Map<string, number>();
  for (const { key, value } of cells) totals.set(key, (totals.get(key) ?? 0) + value);
  const keys = [...totals].sort(([, one], [, other]) => other - one).map(([key]) => key);
  const shown = keys.length > MOST_SERIES + 1 ? keys.slice(0, MOST_SERIES) : keys;
  const places = new Map(shown.map((key, at) => [key, at]));
  const hasOthers = shown.length < keys.length;
  const days = new Map<string, number[]>();
  for (const { day, key, value } of cells) {
    const values = days.get(day) ?? Array.from({ length: shown.length + (hasOthers ? 1 : 0) }, () => 0);
    const at = places.get(key) ?? shown.length;
    values[at] = (values[at] ?? 0) + value;
    days.set(day, values);
  }
  const empty = shown.map(() => 0);
  const series = [...shown.map(nameOf), ...(hasOthers ? [OTHERS] : [])];
  const sums = series.map((_, at) => [...days.values()].reduce((sum, values) => sum + (values[at] ?? 0), 0));
  return { series, totals: sums, valuesOf: (day) => days.get(day) ?? empty };
}
