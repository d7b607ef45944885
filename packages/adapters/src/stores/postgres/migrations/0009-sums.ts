import { COUNTERS } from "@skein/core";

const counters = (column: (name: string) => string): string => COUNTERS.map(column).join(", ");

/**
 * Sums of what grows without end: how many sessions there are, and what runs used by day. Counting every row took as long as
 * there were rows.
 *
 * Nothing of it is written by appends that would make them wait for each other: triggers note what changed in tables that
 * only grow, and skein.roll_up, which every server calls now and then, adds it up. Whoever asks adds the rest.
 * The triggers also see what servers of the version before write.
 */
export const sums = /* sql */ `
create table skein.count_changes (
  tenant text not null,
  agent_id uuid not null,
  top_level boolean not null,
  status text not null,
  outcome text not null,
  sessions integer not null
);
create table skein.session_counts (
  tenant text not null,
  agent_id uuid not null,
  top_level boolean not null,
  status text not null,
  -- Empty for a session without one.
  outcome text not null,
  sessions bigint not null,
  primary key (tenant, agent_id, top_level, status, outcome)
);

create function skein.note_count() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    insert into skein.count_changes
    values (old.tenant, old.agent_id, old.subagent_of_session_id is null, old.status, coalesce(old.outcome, ''), -1);
  end if;
  if tg_op <> 'DELETE' then
    insert into skein.count_changes
    values (new.tenant, new.agent_id, new.subagent_of_session_id is null, new.status, coalesce(new.outcome, ''), 1);
  end if;
  return null;
end $$;
create trigger note_count after insert or delete on skein.sessions for each row execute function skein.note_count();
create trigger note_status after update of status, outcome on skein.sessions for each row
  when (old.status <> new.status or old.outcome is distinct from new.outcome) execute function skein.note_count();

-- Runs that are not in the sums yet: those that go on, and those that ended lately.
create table skein.open_runs (
  run_id uuid not null,
  session_id uuid not null,
  primary key (run_id, session_id)
);
-- Several rows may have the same key; their sum counts. A run whose session is deleted is a row with negative numbers.
create table skein.usage_days (
  tenant text not null,
  day date not null,
  agent_id uuid not null,
  project text not null,
  -- Null: of the whole run. Otherwise what of it went to one model.
  model text,
  runs bigint not null,
  ${COUNTERS.map((name) => `${name} bigint not null`).join(",\n  ")}
);
create index usage_days_day on skein.usage_days (tenant, day);
create table skein.tool_days (
  tenant text not null,
  day date not null,
  agent_id uuid not null,
  tool text not null,
  calls bigint not null,
  failed bigint not null,
  unknown bigint not null,
  duration_ms bigint not null
);
create index tool_days_day on skein.tool_days (tenant, day);

create function skein.note_run() returns trigger language plpgsql as $$
begin
  insert into skein.open_runs values (new.id, new.session_id) on conflict do nothing;
  return null;
end $$;
create trigger note_run after insert on skein.runs for each row execute function skein.note_run();
-- A run that is over never changes, unless a correction comes: then it is taken out of the sums, and added up once more.
create function skein.note_changed_run() returns trigger language plpgsql as $$
begin
  -- Waits for a roll-up that is adding it up.
  delete from skein.open_runs o where o.run_id = old.id and o.session_id = old.session_id;
  if not found then perform skein.take_from_sums(old.id, old.session_id); end if;
  if tg_op = 'DELETE' then return old; end if;
  insert into skein.open_runs values (new.id, new.session_id) on conflict do nothing;
  return new;
end $$;
create trigger note_changed_run before delete on skein.runs for each row execute function skein.note_changed_run();
create trigger note_corrected_run before update on skein.runs for each row when (old.outcome is not null)
  execute function skein.note_changed_run();
`;

/** What was there before the triggers. One statement each: what is noted after its snapshot is not in what it counts. */
export const firstSums = /* sql */ `
with noted as (delete from skein.count_changes)
insert into skein.session_counts
select s.tenant, s.agent_id, s.subagent_of_session_id is null, s.status, coalesce(s.outcome, ''), count(*)
from skein.sessions s group by 1, 2, 3, 4, 5;
insert into skein.open_runs select r.id, r.session_id from skein.runs r on conflict do nothing;
`;

/** For the part of a day at the ends of the time that is asked for. One that was not finished is made anew. */
export const runsByTime = /* sql */ `
drop index if exists skein.runs_time;
create index concurrently runs_time on skein.runs (started_at);
`;

/** One row for a run, and one for each of its models. */
const runRows = (from: string, sign: "" | "-"): string => `
    select s.tenant::text, (r.started_at at time zone 'utc')::date as day, s.agent_id,
      coalesce(s.working_directory, '')::text as project, null::text as model, ${sign}1::bigint as runs,
      ${counters((name) => `${sign}(r.${name})::bigint as ${name}`)}
    from ${from} join skein.runs r on r.id = x.run_id and r.session_id = x.session_id
    join skein.sessions s on s.id = x.session_id
    union all
    select s.tenant, (r.started_at at time zone 'utc')::date, s.agent_id, coalesce(s.working_directory, ''),
      coalesce(m.model, s.model), ${sign}1, ${counters((name) => `${sign}coalesce(m.${name}, 0)`)}
    from ${from} join skein.runs r on r.id = x.run_id and r.session_id = x.session_id
    join skein.sessions s on s.id = x.session_id
    left join skein.run_models m on m.session_id = x.session_id and m.run_id = x.run_id`;

const toolRows = (from: string, sign: "" | "-"): string => `
    select s.tenant::text, (e.created_at at time zone 'utc')::date as day, s.agent_id, e.data ->> 'name' as tool,
      ${sign}count(*) as calls,
      ${sign}count(*) filter (where e.data ->> 'outcome' <> 'unknown'
        and (e.data ->> 'outcome' = 'failed' or (e.data ->> 'is_error')::boolean)) as failed,
      ${sign}count(*) filter (where e.data ->> 'outcome' = 'unknown') as unknown,
      ${sign}sum((e.data ->> 'duration_ms')::bigint)::bigint as duration_ms
    from ${from} join skein.sessions s on s.id = x.session_id
    join skein.events e on e.session_id = x.session_id and e.run_id = x.run_id and e.event_type = 'tool.completed'
    group by 1, 2, 3, 4`;

const COUNT_KEYS = "tenant, agent_id, top_level, status, outcome";
const USAGE_KEYS = "tenant, day, agent_id, project, model";
const TOOL_KEYS = "tenant, day, agent_id, tool";
const TOOL_SUMS = ["calls", "failed", "unknown", "duration_ms"];

/** The rows of a day are replaced by their sums. Only skein.roll_up deletes here, one at a time. */
const merged = (table: string, keys: string, names: readonly string[]): string => {
  const columns = `${keys}, ${names.join(", ")}`;
  return `${table}_gone as (
    delete from skein.${table} u using (select distinct tenant, day from ${table}_added) d
    where u.tenant = d.tenant and u.day = d.day returning ${columns
      .split(", ")
      .map((name) => `u.${name}`)
      .join(", ")}
  ), ${table}_kept as (
    insert into skein.${table} (${columns})
    select ${keys}, ${names.map((name) => `sum(${name})`).join(", ")}
    from (select ${columns} from ${table}_gone union all select ${columns} from ${table}_added) u
    group by ${keys} having ${names.map((name) => `sum(${name}) <> 0`).join(" or ")})`;
};

/** Functions that keep the sums. Made anew with the others. */
export const sumFunctions = /* sql */ `
create or replace function skein.platform_status(p_status text, p_outcome text) returns text language sql immutable
  return case
    when p_status <> 'idle' then 'running'
    when p_outcome is null then 'pending'
    when p_outcome = 'completed' then 'completed'
    else 'failed' end;

-- Takes a run out of the sums.
create or replace function skein.take_from_sums(p_run uuid, p_session uuid) returns void language plpgsql as $$
begin
  insert into skein.usage_days (${USAGE_KEYS}, runs, ${counters((name) => name)})
  ${runRows("(select p_run as run_id, p_session as session_id) x", "-")};
  insert into skein.tool_days (${TOOL_KEYS}, ${TOOL_SUMS.join(", ")})
  ${toolRows("(select p_run as run_id, p_session as session_id) x", "-")};
end $$;

-- Adds up what was noted, and so many runs that are over. Answers how many runs those were; -1 if another server is at it.
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
  ), usage_days_added as (${runRows("x", "")}
  ), ${merged("usage_days", USAGE_KEYS, ["runs", ...COUNTERS])},
  tool_days_added as (${toolRows("x", "")}
  ), ${merged("tool_days", TOOL_KEYS, TOOL_SUMS)}
  select count(*) into v_runs from x;
  return v_runs;
end $$;
`;
