import { COUNTERS } from "@skein/core";

/**
 * Sums by quarter of an hour, in addition to those by day: for days of other time zones, which all begin at a quarter
 * of an hour, and for the parts of a day at both ends of the requested time. Both are also grouped by the key that
 * opened the session.
 *
 * Every existing run is added up again by skein.roll_up, and counted row by row until then.
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
