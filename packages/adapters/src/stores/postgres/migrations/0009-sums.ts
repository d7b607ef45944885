import { COUNTERS } from "@skein/core";

/**
 * The number of sessions, and the usage of runs by day, as sums. Counting rows took longer with every row.
 *
 * Appends never wait for each other because of sums. Triggers insert changes as new rows, and every server calls
 * skein.roll_up from time to time to add them up. A query adds the changes that are left. The triggers also see writes
 * of servers of the previous version. Reasons: docs/decisions/167-sums.md.
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
  -- Empty for a session without an outcome.
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

-- Runs that are not in the sums yet: open runs, and runs that ended recently.
create table skein.open_runs (
  run_id uuid not null,
  session_id uuid not null,
  primary key (run_id, session_id)
);
-- Several rows may have the same key: their values are added. A row with negative values subtracts a run that was deleted or
-- corrected.
create table skein.usage_days (
  tenant text not null,
  day date not null,
  agent_id uuid not null,
  project text not null,
  -- Null: the row counts whole runs. Otherwise it counts only what one model used.
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
-- A run that has ended changes only if it is corrected or deleted. It is then subtracted from the sums; a corrected run is
-- added up again.
create function skein.note_changed_run() returns trigger language plpgsql as $$
begin
  -- This delete waits for a roll-up that is just adding up the run.
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

/**
 * Counts the rows that existed before the triggers. One statement counts each table. Changes after its snapshot are not
 * counted here, because the triggers record them.
 */
export const firstSums = /* sql */ `
with noted as (delete from skein.count_changes)
insert into skein.session_counts
select s.tenant, s.agent_id, s.subagent_of_session_id is null, s.status, coalesce(s.outcome, ''), count(*)
from skein.sessions s group by 1, 2, 3, 4, 5;
insert into skein.open_runs select r.id, r.session_id from skein.runs r on conflict do nothing;
`;

/** An index for the incomplete days at both ends of a requested period. An unfinished index is created again. */
export const runsByTime = /* sql */ `
drop index if exists skein.runs_time;
create index concurrently runs_time on skein.runs (started_at);
`;
