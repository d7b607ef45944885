import { COUNTERS } from "@skein/core";
import { EVENT_TIME } from "../../sql/event-time.ts";

const counters = (column: (name: string) => string): string => COUNTERS.map(column).join(", ");

/** The tables with sums per day, or per quarter of an hour. */
interface Span {
  readonly usage: string;
  readonly tools: string;
  /** The column with the beginning of the period. */
  readonly column: "day" | "quarter";
  /** Returns the SQL for the beginning of the period that contains this time. */
  readonly of: (time: string) => string;
}

const SPANS: readonly Span[] = [
  {
    usage: "usage_days",
    tools: "tool_days",
    column: "day",
    of: (time) => `(${time} at time zone 'utc')::date`,
  },
  {
    usage: "usage_quarters",
    tools: "tool_quarters",
    column: "quarter",
    of: (time) => `date_bin('15 minutes', ${time}, '2000-01-01T00:00:00Z'::timestamptz)`,
  },
];

/** Returns the SQL for one row per run, and one more row for each model of the run. */
const runRows = ({ of, column }: Span, from: string, sign: "" | "-"): string => `
    select s.tenant::text, ${of("r.started_at")} as ${column}, s.agent_id,
      coalesce(s.working_directory, '')::text as project, coalesce(s.opened_by, '')::text as opened_by,
      null::text as model, ${sign}1::bigint as runs,
      ${counters((name) => `${sign}(r.${name})::bigint as ${name}`)}
    from ${from} join skein.runs r on r.id = x.run_id and r.session_id = x.session_id
    join skein.sessions s on s.id = x.session_id
    union all
    select s.tenant, ${of("r.started_at")}, s.agent_id, coalesce(s.working_directory, ''),
      coalesce(s.opened_by, ''), coalesce(m.model, s.model), ${sign}1,
      ${counters((name) => `${sign}coalesce(m.${name}, 0)`)}
    from ${from} join skein.runs r on r.id = x.run_id and r.session_id = x.session_id
    join skein.sessions s on s.id = x.session_id
    left join skein.run_models m on m.session_id = x.session_id and m.run_id = x.run_id`;

const toolRows = ({ of, column }: Span, from: string, sign: "" | "-"): string => `
    select s.tenant::text, ${of(EVENT_TIME)} as ${column}, s.agent_id, d ->> 'name' as tool,
      ${sign}count(*) as calls,
      ${sign}count(*) filter (where d ->> 'outcome' <> 'unknown'
        and (d ->> 'outcome' = 'failed' or (d ->> 'is_error')::boolean)) as failed,
      ${sign}count(*) filter (where d ->> 'outcome' = 'unknown') as unknown,
      ${sign}sum((d ->> 'duration_ms')::bigint)::bigint as duration_ms
    from ${from} join skein.sessions s on s.id = x.session_id
    join skein.events e on e.session_id = x.session_id and e.run_id = x.run_id and e.event_type = 'tool.completed'
    cross join lateral (select skein.shown(e.data) as d offset 0) t
    group by 1, 2, 3, 4`;

const COUNT_KEYS = "tenant, agent_id, top_level, status, outcome";
const usageKeys = ({ column }: Span): string => `tenant, ${column}, agent_id, project, opened_by, model`;
const toolKeys = ({ column }: Span): string => `tenant, ${column}, agent_id, tool`;
const TOOL_SUMS = ["calls", "failed", "unknown", "duration_ms"];

/**
 * Returns the SQL that replaces the rows of a day or quarter by their sums. Only skein.roll_up deletes rows here, in
 * one process at a time.
 */
const merged = (table: string, column: string, keys: string, names: readonly string[]): string => {
  const columns = `${keys}, ${names.join(", ")}`;
  return `${table}_gone as (
    delete from skein.${table} u using (select distinct tenant, ${column} from ${table}_added) d
    where u.tenant = d.tenant and u.${column} = d.${column} returning ${columns
      .split(", ")
      .map((name) => `u.${name}`)
      .join(", ")}
  ), ${table}_kept as (
    insert into skein.${table} (${columns})
    select ${keys}, ${names.map((name) => `sum(${name})`).join(", ")}
    from (select ${columns} from ${table}_gone union all select ${columns} from ${table}_added) u
    group by ${keys} having ${names.map((name) => `sum(${name}) <> 0`).join(" or ")})`;
};

const added = (span: Span): string => `${span.usage}_added as (${runRows(span, "x", "")}
  ), ${merged(span.usage, span.column, usageKeys(span), ["runs", ...COUNTERS])},
  ${span.tools}_added as (${toolRows(span, "x", "")}
  ), ${merged(span.tools, span.column, toolKeys(span), TOOL_SUMS)}`;

/**
 * Functions that maintain the sums. They are created again when their text has changed (see `VIEWS` in
 * `views/index.ts`).
 */
export const sumFunctions = /* sql */ `
create or replace function skein.platform_status(p_status text, p_outcome text) returns text language sql immutable
  return case
    when p_status <> 'idle' then 'running'
    when p_outcome is null then 'pending'
    when p_outcome = 'completed' then 'completed'
    else 'failed' end;

-- Subtracts a run from the sums.
create or replace function skein.take_from_sums(p_run uuid, p_session uuid) returns void language plpgsql as $$
begin
${SPANS.map(
  (span) => `  insert into skein.${span.usage} (${usageKeys(span)}, runs, ${counters((name) => name)})
  ${runRows(span, "(select p_run as run_id, p_session as session_id) x", "-")};
  insert into skein.${span.tools} (${toolKeys(span)}, ${TOOL_SUMS.join(", ")})
  ${toolRows(span, "(select p_run as run_id, p_session as session_id) x", "-")};`,
).join("\n")}
end $$;

-- Adds up the recorded changes of counts, and at most p_runs runs that have ended. Returns the number of these runs, or -1 if
-- another server is adding up.
create or replace function skein.roll_up(p_runs integer) returns integer language plpgsql as $$
declare
  v_runs integer;
begin
  if not pg_try_advisory_xact_lock(7305) then return -1; end if;
  with gone as (delete from skein.count_changes returning ${COUNT_KEYS}, sessions)
  insert into skein.session_counts as c (${COUNT_KEYS}, sessions)
  select ${COUNT_KEYS}, sum(sessions) from gone group by ${COUNT_KEYS} having sum(sessions) <> 0
  on conflict (${COUNT_KEYS}) do update set sessions = c.sessions + excluded.sessions;

  with over as (
    select o.run_id, o.session_id from skein.open_runs o
    join skein.runs r on r.id = o.run_id and r.session_id = o.session_id
    where r.outcome is not null limit p_runs for update of o skip locked
  ), x as (
    delete from skein.open_runs o using over where o.run_id = over.run_id and o.session_id = over.session_id
    returning o.run_id, o.session_id
  ), ${SPANS.map((span) => added(span)).join(", ")}
  select count(*) into v_runs from x;
  return v_runs;
end $$;
`;
