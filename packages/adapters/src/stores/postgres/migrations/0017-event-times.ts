const PARTITIONS = Array.from({ length: 8 }, (_, n) => n);
const COLUMNS = "session_id, sequence, id, position, v, event_type, run_id, data, blob, created_at";
const BY_TIME = "(event_type, coalesce(happened_at, created_at) desc)";

/**
 * Adds the column `happened_at`, the time at which an event happened. It is null if the event was written at that time.
 * Only adopted and imported events have a value.
 */
export const eventTimes = /* sql */ `
alter table skein.log_events add column happened_at timestamptz;
do $$ begin
  if to_regclass('skein.events_single') is null then
    create or replace view skein.events as select ${COLUMNS}, happened_at from skein.log_events;
  else
    create or replace view skein.events as
      select ${COLUMNS}, happened_at from skein.log_events union all select ${COLUMNS}, null from skein.events_single;
  end if;
end $$;
`;

/**
 * The sessions that may have been adopted or imported: they have a run that began before the session was created. They
 * may include others, if the clocks of two servers differ.
 */
const ADOPTED = `select r.session_id from skein.runs r join skein.sessions s on s.id = r.session_id
  where r.started_at < s.created_at`;

/**
 * Fills in the times of events that are already stored. Writers put `happened_at` first in a body. The text is matched,
 * because a JSON operator would fail if the body has NUL anywhere. The microseconds of `created_at` keep the order of
 * events within a millisecond.
 */
export const firstEventTimes = /* sql */ `
update skein.log_events e set happened_at =
  substring(e.data::text from '^\\{"happened_at":"([^"]+)"')::timestamptz
  + (e.created_at - date_trunc('milliseconds', e.created_at))
where e.data::text like '{"happened\\_at":"%' and e.session_id in (${ADOPTED});
`;

/** The partitions of the index of types by the time at which events happened. Unfinished indexes are created again. */
export const eventsByTime = PARTITIONS.map(
  (n) => /* sql */ `
drop index if exists skein.log_events_${n}_time;
create index concurrently log_events_${n}_time on skein.log_events_${n} ${BY_TIME};
`,
).join("");

/**
 * The tool calls of adopted runs were in the sums of the day of the adoption. An update of a run that has ended
 * subtracts it from the sums, and skein.roll_up adds it up again. The lock keeps skein.roll_up from running before its
 * new version is created. The heads are locked first, as a deletion does, so that neither waits for the other.
 */
export const toolTimes = /* sql */ `
select pg_advisory_xact_lock(7305);
select h.session_id from skein.heads h where h.session_id in (${ADOPTED}) order by h.session_id for update;
update skein.runs r set number = r.number where r.outcome is not null and r.session_id in (${ADOPTED});
`;

/** Replaces the index of types by the time at which events were written. */
export const oneIndexOfTypes = /* sql */ `
create index log_events_time on only skein.log_events ${BY_TIME};
${PARTITIONS.map((n) => `alter index skein.log_events_time attach partition skein.log_events_${n}_time;`).join("\n")}
drop index skein.log_events_type;
`;
