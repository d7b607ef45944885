import { COUNTERS } from "@skein/core";

/**
 * Adds sums by quarter of an hour to the sums by day. They are needed for days in other time zones, because every time
 * zone's day begins at a quarter of an hour. They are also needed for incomplete days at both ends of a requested
 * period. The sums of usage are also grouped by the API key that opened the session.
 *
 * skein.roll_up adds up every existing run again. Until then, these runs are counted row by row.
 */
export const quarterHours = /* sql */ `
-- Empty for a session that was opened without a key.
alter table skein.usage_days add column opened_by text not null default '';
create table skein.usage_quarters (
  tenant text not null,
  quarter timestamptz not null,
  agent_id uuid not null,
  project text not null,
  opened_by text not null,
  -- Null: the row counts whole runs. Otherwise it counts only what one model used.
  model text,
  runs bigint not null,
  ${COUNTERS.map((name) => `${name} bigint not null`).join(",\n  ")}
);
create index usage_quarters_time on skein.usage_quarters (tenant, quarter);
create table skein.tool_quarters (
  tenant text not null,
  quarter timestamptz not null,
  agent_id uuid not null,
  tool text not null,
  calls bigint not null,
  failed bigint not null,
  unknown bigint not null,
  duration_ms bigint not null
);
create index tool_quarters_time on skein.tool_quarters (tenant, quarter);

-- This lock keeps skein.roll_up from running. Statements that correct or delete a run wait too, because the table of runs is
-- locked.
select pg_advisory_xact_lock(7305);
delete from skein.usage_days;
delete from skein.tool_days;
insert into skein.open_runs select r.id, r.session_id from skein.runs r on conflict do nothing;
`;
