const PARTITIONS = 8;
const COLUMNS = "session_id, sequence, id, position, v, event_type, run_id, data, blob, created_at";

/** The trigger on the view `skein.events`. It exists while some events are in a table without partitions. */
const WRITE_EVENT = `create trigger write_event instead of insert or delete on skein.events
      for each row execute function skein.write_event();`;

/**
 * Events in partitions by their session.
 *
 * `skein.events` becomes a view, because servers of the previous version use this name. An old table with events gets
 * another name, and the view shows both tables. skein.move_events moves the old events in small steps while servers are
 * running. The migration holds its locks for milliseconds, even for a large table.
 */
export const partitionedEvents = /* sql */ `
-- The oldest schema whose code still works with this one. Null: only code that knows this schema.
alter table skein.migrations add column oldest integer;

create sequence skein.event_position;

create table skein.log_events (
  session_id uuid not null,
  sequence skein.place not null,
  id uuid not null,
  position bigint not null default nextval('skein.event_position'),
  v smallint not null,
  event_type text not null,
  run_id uuid,
  -- The body, or a preview of it where the body is a blob.
  data json not null,
  blob bytea references skein.blobs,
  created_at timestamptz not null,
  primary key (session_id, sequence),
  unique (id, session_id)
) partition by hash (session_id);
alter sequence skein.event_position owned by skein.log_events.position;
${Array.from(
  { length: PARTITIONS },
  (_, n) =>
    `create table skein.log_events_${n} partition of skein.log_events for values with (modulus ${PARTITIONS}, remainder ${n});`,
).join("\n")}
create index log_events_run on skein.log_events (run_id, event_type, created_at) where run_id is not null;
create index log_events_type on skein.log_events (event_type, created_at desc);
create index log_events_blob on skein.log_events (blob) where blob is not null;

-- Handles the writes of calls that began before the migration and still use the table's old name.
create function skein.write_event() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into skein.log_events (session_id, sequence, id, v, event_type, run_id, data, blob, created_at)
    values (new.session_id, new.sequence, new.id, new.v, new.event_type, new.run_id, new.data, new.blob, new.created_at);
    return new;
  end if;
  delete from skein.events_single e where e.session_id = old.session_id and e.sequence = old.sequence;
  delete from skein.log_events e where e.session_id = old.session_id and e.sequence = old.sequence;
  return old;
end $$;

do $$
declare
  v_last bigint;
begin
  execute format('select last_value from %s', pg_get_serial_sequence('skein.events', 'position')) into v_last;
  perform setval('skein.event_position', v_last);
  if exists (select from skein.events) then
    alter table skein.events rename to events_single;
    create view skein.events as
      select ${COLUMNS} from skein.log_events union all select ${COLUMNS} from skein.events_single;
    ${WRITE_EVENT}
  else
    -- The views of the schemas platform, agent and api are created again in the same transaction.
    drop table skein.events cascade;
    create view skein.events as select ${COLUMNS} from skein.log_events;
  end if;
end $$;
`;

/**
 * The function that moves the events of a table without partitions. It is created again when its text has changed (see
 * `VIEWS` in `views/index.ts`).
 */
export const moveEvents = /* sql */ `
-- Moves at most p_rows events in the order of their sessions, from session p_after on. Returns: moved (and the last session) |
-- busy | done.
--
-- A statement over the view locks the view first, then its tables. The end of the move takes its locks in the same order, and
-- waits for each lock for less time than PostgreSQL waits before it looks for a deadlock. So servers are never interrupted:
-- the end of the move fails instead, and is tried again.
create or replace function skein.move_events(p_after uuid, p_rows integer) returns text language plpgsql
set lock_timeout = '200ms' as $$
declare
  v_last uuid;
begin
  if to_regclass('skein.events_single') is null then return 'done'; end if;
  if not pg_try_advisory_xact_lock(7304) then return 'busy'; end if;
  with few as (
    select e.ctid as place from skein.events_single e where e.session_id >= p_after
    order by e.session_id, e.sequence limit p_rows for update skip locked
  ), gone as (
    delete from skein.events_single e using few where e.ctid = few.place
    returning ${COLUMNS.split(", ")
      .map((name) => `e.${name}`)
      .join(", ")}
  ), kept as (
    insert into skein.log_events (${COLUMNS}) select ${COLUMNS} from gone returning session_id
  )
  -- There is no max() of UUIDs before PostgreSQL 18.
  select k.session_id into v_last from kept k order by k.session_id desc limit 1;
  if v_last is not null then return format('moved %s', v_last); end if;
  -- No events are left from p_after on. Events that other transactions had locked are searched again from the start.
  if exists (select from skein.events_single) then return 'moved 00000000-0000-0000-0000-000000000000'; end if;
  drop trigger write_event on skein.events;
  lock table skein.events_single in access exclusive mode;
  if exists (select from skein.events_single) then
    ${WRITE_EVENT}
    return 'moved 00000000-0000-0000-0000-000000000000';
  end if;
  create or replace view skein.events as select ${COLUMNS}, happened_at from skein.log_events;
  drop table skein.events_single;
  return 'done';
end $$;
`;
