import { COUNTERS, type ToolUsageQuery, type UsageKey, type UsageQuery, type ZoneShift } from "@skein/core";
import { type ToolUsageRow, type UsageRow, Uuid } from "@skein/protocol";
import { EVENT_TIME } from "../sql/event-time.ts";
import { usageRow, usageSql, zoneDay } from "../sql/usage.ts";
import type { Connections } from "./connections.ts";

/**
 * Returns the usage of runs and tools. Whole days and whole quarters of an hour come from sums. Open runs, recently
 * ended runs and incomplete quarters are added row by row.
 */
export async function usageOf(connections: Connections, query: UsageQuery): Promise<readonly UsageRow[]> {
  const { sessionId, by, secondKey } = query;
  if (sessionId !== undefined && !Uuid.safeParse(sessionId).success) return [];
  const keys = secondKey === undefined ? [by] : [by, secondKey];
  const { columns, groupBy, needsModels } = usageSql(query, dayIn("r.started_at", query));
  const ofRuns = (from: string, where: string): string => `select ${columns} from ${from}
    ${needsModels ? "left join skein.run_models m on m.session_id = s.id and m.run_id = r.id" : ""}
    where s.tenant = $1 and ($2::uuid is null or s.agent_id = $2) and ($3::timestamptz is null or r.started_at >= $3)
      and ($4::timestamptz is null or r.started_at < $4) and ($5::uuid is null or s.id = $5) and ${where}
    group by ${groupBy}`;
  const ofSums = (from: string, day: string, where: string): string => {
    const columnOf: Readonly<Record<UsageKey, string>> = { ...SUM_KEYS, day };
    return `select ${[...keys.map((key) => columnOf[key]), "runs", ...COUNTERS].join(", ")} from ${from} u
      where u.tenant = $1 and ($2::uuid is null or u.agent_id = $2) and u.model is ${needsModels ? "not " : ""}null
        and ${where}`;
  };
  const all = "skein.sessions s join skein.runs r on r.session_id = s.id";
  // Sums are not kept per session.
  const isSummed = sessionId === undefined && !keys.includes("session");
  const { days, quarters, rest } = summedTimes(query);
  const parts = isSummed
    ? [
        ...days.map((time) => ofSums("skein.usage_days", "to_char(u.day, 'YYYY-MM-DD')", within("u.day", time))),
        ...quarters.map((time) => ofSums("skein.usage_quarters", dayIn("u.quarter", query), within("u.quarter", time))),
        ofRuns(
          `skein.open_runs o join skein.runs r on r.id = o.run_id and r.session_id = o.session_id
          join skein.sessions s on s.id = o.session_id`,
          "true",
        ),
        ...rest.map((time) => ofRuns(all, `${within("r.started_at", time)} and ${NOT_OPEN}`)),
      ]
    : [ofRuns(all, "true")];
  const names = [...keys.map((_, at) => `key${at}`), "runs", ...COUNTERS];
  const text = `with parts (${names.join(", ")}) as (${parts.join("\nunion all\n")})
    select ${names.map((name, at) => (at < keys.length ? name : `sum(${name})`)).join(", ")} from parts group by ${groupBy}
    having sum(runs) <> 0`;
  const rows = await connections.query({ patient: true, text }, valuesOf(query));
  return rows.map((row) => {
    const sums = COUNTERS.map((counter, at) => [counter, Number(row[keys.length + 1 + at])]);
    const found = row.slice(0, keys.length).map((key) => key ?? "");
    return usageRow(found, Number(row[keys.length]), Object.fromEntries(sums));
  });
}

const SUM_KEYS: Readonly<Record<Exclude<UsageKey, "day">, string>> = {
  model: "u.model",
  agent: "u.agent_id",
  project: "u.project",
  session: "",
  key: "u.opened_by",
};
const NOT_OPEN = "not exists (select from skein.open_runs o where o.run_id = r.id and o.session_id = r.session_id)";

/** Name, outcome and duration of a call are short, so they are complete even in the preview of a large body. */
const TOOL_COLUMNS = `d ->> 'name', count(*),
  count(*) filter (where d ->> 'outcome' <> 'unknown' and (d ->> 'outcome' = 'failed' or (d ->> 'is_error')::boolean)),
  count(*) filter (where d ->> 'outcome' = 'unknown'), sum((d ->> 'duration_ms')::bigint)`;

export async function toolUsageOf(connections: Connections, query: ToolUsageQuery): Promise<readonly ToolUsageRow[]> {
  const { sessionId } = query;
  if (sessionId !== undefined && !Uuid.safeParse(sessionId).success) return [];
  const ofCalls = (from: string, where: string): string => `select ${dayIn(EVENT_TIME, query)}, ${TOOL_COLUMNS}
    from ${from} cross join lateral (select skein.shown(e.data) as d offset 0) t
    where e.event_type = 'tool.completed' and s.tenant = $1 and ($2::uuid is null or s.agent_id = $2)
      and ($3::timestamptz is null or ${EVENT_TIME} >= $3) and ($4::timestamptz is null or ${EVENT_TIME} < $4)
      and ($5::uuid is null or s.id = $5) and ${where} group by 1, 2`;
  const all = "skein.events e join skein.sessions s on s.id = e.session_id";
  const ofSums = (from: string, day: string, where: string): string => `
    select ${day}, u.tool, u.calls, u.failed, u.unknown, u.duration_ms from ${from} u
    where u.tenant = $1 and ($2::uuid is null or u.agent_id = $2) and ${where}`;
  const { days, quarters, rest } = summedTimes(query);
  const parts =
    sessionId === undefined
      ? [
          ...days.map((time) => ofSums("skein.tool_days", "to_char(u.day, 'YYYY-MM-DD')", within("u.day", time))),
          ...quarters.map((time) =>
            ofSums("skein.tool_quarters", dayIn("u.quarter", query), within("u.quarter", time)),
          ),
          ofCalls(
            `skein.open_runs o join skein.sessions s on s.id = o.session_id
            join skein.events e on e.session_id = o.session_id and e.run_id = o.run_id`,
            "true",
          ),
          ...rest.map((time) =>
            ofCalls(
              all,
              `${within(EVENT_TIME, time)} and not exists (
              select from skein.open_runs o where o.run_id = e.run_id and o.session_id = e.session_id)`,
            ),
          ),
        ]
      : [ofCalls(all, "true")];
  const text = `with parts (day, tool, calls, failed, unknown, duration_ms) as (${parts.join("\nunion all\n")})
    select day, tool, sum(calls), sum(failed), sum(unknown), sum(duration_ms) from parts group by day, tool
    having sum(calls) <> 0`;
  const rows = await connections.query({ patient: true, text }, valuesOf(query));
  return rows.map(([day, tool, ...counts]) => {
    const [calls = 0, failed = 0, unknown = 0, duration_ms = 0] = counts.map(Number);
    return { day: day ?? "", tool: tool ?? "", calls, failed, unknown, duration_ms };
  });
}

/** Returns the SQL for the day of a time in the query's time zone. */
function dayIn(time: string, asked: ToolUsageQuery): string {
  const utc = `${time} at time zone 'utc'`;
  return zoneDay(time, asked, (minutes) =>
    minutes === 0 ? `to_char(${utc}, 'YYYY-MM-DD')` : `to_char(${utc} + interval '${minutes} minutes', 'YYYY-MM-DD')`,
  );
}

function valuesOf({ tenant, agentId, from, to, sessionId }: ToolUsageQuery): readonly (string | null)[] {
  return [tenant, agentId ?? null, from ?? null, to ?? null, sessionId ?? null];
}

/** A time range in milliseconds, with an exclusive end. */
interface Time {
  readonly from: number;
  readonly to: number;
}

interface SummedTimes {
  readonly days: readonly Time[];
  readonly quarters: readonly Time[];
  /** The parts that no sum covers. */
  readonly rest: readonly Time[];
}

const QUARTER_MS = 900_000;
const DAY_MS = 96 * QUARTER_MS;

/** Splits the requested time into the parts that come from each kind of sum. Sums by day are in UTC. */
function summedTimes({ from, to, shifts = [] }: ToolUsageQuery): SummedTimes {
  const asked = {
    from: from === undefined ? -Infinity : Date.parse(from),
    to: to === undefined ? Infinity : Date.parse(to),
  };
  const quarters = shifts.every(beginsAtQuarter) ? whole(asked, QUARTER_MS) : [];
  const days = shifts.length === 0 ? whole(asked, DAY_MS) : [];
  return { days, quarters: without(quarters, days), rest: without([asked], quarters) };
}

const beginsAtQuarter = ({ until, minutes }: ZoneShift): boolean =>
  minutes % 15 === 0 && (until === null || Date.parse(until) % QUARTER_MS === 0);

/** Returns the range of all whole days or quarters of an hour in a time range, if it has any. */
function whole({ from, to }: Time, span: number): readonly Time[] {
  const inside = { from: Math.ceil(from / span) * span, to: Math.floor(to / span) * span };
  return inside.from < inside.to ? [inside] : [];
}

/** The parts of `time` that are outside of `inside`. */
function without([time]: readonly Time[], [inside]: readonly Time[]): readonly Time[] {
  if (!time) return [];
  if (!inside) return [time];
  const parts = [
    { from: time.from, to: inside.from },
    { from: inside.to, to: time.to },
  ];
  return parts.filter(({ from, to }) => from < to);
}

function within(column: string, { from, to }: Time): string {
  const at = (ms: number): string => `'${new Date(ms).toISOString()}'`;
  const bounds = [
    ...(from === -Infinity ? [] : [`${column} >= ${at(from)}`]),
    ...(to === Infinity ? [] : [`${column} < ${at(to)}`]),
  ];
  return bounds.length === 0 ? "true" : bounds.join(" and ");
}
