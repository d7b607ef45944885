import { COUNTERS, type ToolUsageQuery, type UsageKey, type UsageQuery } from "@skein/core";
import { type ToolUsageRow, type UsageRow, Uuid } from "@skein/protocol";
import { usageRow, usageSql, zoneDay } from "../sql/usage.ts";
import type { Connections } from "./connections.ts";

/**
 * What runs and tools used. Whole days come from sums, and what no sum has is added: runs that go on or ended lately, and the
 * part of a day at either end of the asked time.
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
  const all = "skein.sessions s join skein.runs r on r.session_id = s.id";
  const days = wholeDays(query);
  // Sums know no sessions and no keys, and their days are those of UTC.
  const needsRuns = keys.some((key) => key === "session" || key === "key" || (key === "day" && query.shifts));
  const isSummed = sessionId === undefined && !needsRuns && days !== undefined;
  const parts = isSummed
    ? [
        `select ${[...keys.map((key) => SUM_KEYS[key]), "runs", ...COUNTERS].join(", ")} from skein.usage_days u
          where u.tenant = $1 and ($2::uuid is null or u.agent_id = $2) and u.model is ${needsModels ? "not " : ""}null
            and ${days.inside("u.day")}`,
        ofRuns(
          `skein.open_runs o join skein.runs r on r.id = o.run_id and r.session_id = o.session_id
          join skein.sessions s on s.id = o.session_id`,
          "true",
        ),
        ...days.edges("r.started_at").map((edge) => ofRuns(all, `${edge} and ${NOT_OPEN}`)),
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

const SUM_KEYS: Readonly<Record<UsageKey, string>> = {
  day: "to_char(u.day, 'YYYY-MM-DD')",
  model: "u.model",
  agent: "u.agent_id",
  project: "u.project",
  session: "",
  key: "",
};
const NOT_OPEN = "not exists (select from skein.open_runs o where o.run_id = r.id and o.session_id = r.session_id)";

/** The name and the end of a call are whole also in the preview of a large body. */
const TOOL_COLUMNS = `e.data ->> 'name', count(*),
  count(*) filter (where e.data ->> 'outcome' <> 'unknown'
    and (e.data ->> 'outcome' = 'failed' or (e.data ->> 'is_error')::boolean)),
  count(*) filter (where e.data ->> 'outcome' = 'unknown'), sum((e.data ->> 'duration_ms')::bigint)`;

export async function toolUsageOf(connections: Connections, query: ToolUsageQuery): Promise<readonly ToolUsageRow[]> {
  const { sessionId } = query;
  if (sessionId !== undefined && !Uuid.safeParse(sessionId).success) return [];
  const ofCalls = (
    from: string,
    where: string,
  ): string => `select ${dayIn("e.created_at", query)}, ${TOOL_COLUMNS} from ${from}
    where e.event_type = 'tool.completed' and s.tenant = $1 and ($2::uuid is null or s.agent_id = $2)
      and ($3::timestamptz is null or e.created_at >= $3) and ($4::timestamptz is null or e.created_at < $4)
      and ($5::uuid is null or s.id = $5) and ${where} group by 1, 2`;
  const all = "skein.events e join skein.sessions s on s.id = e.session_id";
  const days = wholeDays(query);
  const parts =
    sessionId === undefined && days !== undefined && !query.shifts
      ? [
          `select to_char(u.day, 'YYYY-MM-DD'), u.tool, u.calls, u.failed, u.unknown, u.duration_ms from skein.tool_days u
            where u.tenant = $1 and ($2::uuid is null or u.agent_id = $2) and ${days.inside("u.day")}`,
          ofCalls(
            `skein.open_runs o join skein.sessions s on s.id = o.session_id
            join skein.events e on e.session_id = o.session_id and e.run_id = o.run_id`,
            "true",
          ),
          ...days.edges("e.created_at").map((edge) =>
            ofCalls(
              all,
              `${edge} and not exists (
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

/** The day of a moment, in the time zone of the question. */
function dayIn(time: string, { shifts }: ToolUsageQuery): string {
  const utc = `${time} at time zone 'utc'`;
  return zoneDay(time, shifts, (minutes) =>
    minutes === 0 ? `to_char(${utc}, 'YYYY-MM-DD')` : `to_char(${utc} + interval '${minutes} minutes', 'YYYY-MM-DD')`,
  );
}

function valuesOf({ tenant, agentId, from, to, sessionId }: ToolUsageQuery): readonly (string | null)[] {
  return [tenant, agentId ?? null, from ?? null, to ?? null, sessionId ?? null];
}

interface WholeDays {
  /** The days that lie inside the asked time as a whole. */
  inside(day: string): string;
  /** The rest of the asked time, at its ends. */
  edges(time: string): readonly string[];
}

const DAY_MS = 86_400_000;

/** The whole days (UTC) of the asked time, or undefined if it has none. */
function wholeDays({ from, to }: ToolUsageQuery): WholeDays | undefined {
  const first = from === undefined ? undefined : Math.ceil(Date.parse(from) / DAY_MS) * DAY_MS;
  const end = to === undefined ? undefined : Math.floor(Date.parse(to) / DAY_MS) * DAY_MS;
  if (Number.isNaN(first) || Number.isNaN(end) || (first ?? -Infinity) >= (end ?? Infinity)) return undefined;
  const at = (ms: number): string => new Date(ms).toISOString();
  return {
    inside: (day) =>
      [
        "true",
        ...(first === undefined ? [] : [`${day} >= '${at(first).slice(0, 10)}'`]),
        ...(end === undefined ? [] : [`${day} < '${at(end).slice(0, 10)}'`]),
      ].join(" and "),
    edges: (time) => [
      ...(first !== undefined && first !== Date.parse(from ?? "") ? [`${time} < '${at(first)}'`] : []),
      ...(end !== undefined && end !== Date.parse(to ?? "") ? [`${time} >= '${at(end)}'`] : []),
    ],
  };
}
