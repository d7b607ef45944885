import {
  COUNTERS,
  type Counters,
  type ToolUsageQuery,
  type UsageKey,
  type UsageQuery,
  type ZoneShift,
  costTotals,
  usageTotals,
} from "@skein/core";
import type { UsageRow } from "@skein/protocol";

/** The columns by which usage is grouped. The day is missing, because each database computes it differently. */
const USAGE_KEYS: Readonly<Record<Exclude<UsageKey, "day">, string>> = {
  // A run without an answer is counted for its session's model.
  model: "coalesce(m.model, s.model)",
  agent: "s.agent_id",
  session: "s.id",
  project: "coalesce(s.working_directory, '')",
  key: "coalesce(s.opened_by, '')",
};

/** The parts of a usage statement. */
export interface UsageSql {
  /** The columns: one or two keys, the number of runs, then the counters in the order of `COUNTERS`. */
  readonly columns: string;
  readonly groupBy: string;
  /** Whether the statement needs the models of the runs, as `m`. */
  readonly needsModels: boolean;
}

/**
 * Returns the parts of a usage statement. If usage is grouped by model, a run has a row per model. If not, its sums are
 * in a single row. `day` is the database's expression for the day of a run.
 */
export function usageSql({ by, secondKey }: UsageQuery, day: string): UsageSql {
  const keys = secondKey === undefined ? [by] : [by, secondKey];
  const needsModels = keys.includes("model");
  const sum = (name: string): string => (needsModels ? `sum(coalesce(m.${name}, 0))` : `sum(r.${name})`);
  const selected = keys.map((key, at) => `${key === "day" ? day : USAGE_KEYS[key]} as key${at}`);
  const sums = COUNTERS.map((name) => `${sum(name)} as ${name}`);
  return {
    columns: [...selected, "count(*) as runs", ...sums].join(", "),
    groupBy: keys.map((_, at) => at + 1).join(", "),
    needsModels,
  };
}

export function usageRow(keys: readonly string[], runs: number, counters: Counters): UsageRow {
  const [key = "", second_key] = keys;
  return {
    key,
    ...(second_key !== undefined && { second_key }),
    runs,
    ...usageTotals(counters),
    ...costTotals(counters),
  };
}

/**
 * Returns the expression for the day of a time in the query's time zone. `dayAfter(minutes)` returns the database's
 * expression for the day of this time plus some minutes.
 */
export function zoneDay(time: string, asked: ToolUsageQuery, dayAfter: (minutes: number) => string): string {
  const shifts = shiftsWithin(asked);
  const last = dayAfter(shifts.at(-1)?.minutes ?? 0);
  const cases = shifts.slice(0, -1).map(({ until, minutes }) => `when ${time} < '${until}' then ${dayAfter(minutes)}`);
  return cases.length === 0 ? last : `case ${cases.join(" ")} else ${last} end`;
}

/**
 * Returns only the clock changes within the requested time, because the statement compares every row with all of them.
 */
function shiftsWithin({ shifts = [], from, to }: ToolUsageQuery): readonly ZoneShift[] {
  const left = shifts.filter(
    ({ until }) => until === null || from === undefined || Date.parse(until) > Date.parse(from),
  );
  const last = left.findIndex(
    ({ until }) => until === null || (to !== undefined && Date.parse(until) >= Date.parse(to)),
  );
  return left.slice(0, last + 1);
}
