/**
 * The condition that is true for the events in the index of types. sqlite uses the index only for queries with exactly
 * this text.
 */
export const RARE_EVENT = `event_type not in ('session.created', 'prompt.accepted', 'session.started', 'message.created',
  'step.started', 'step.generated', 'tool.started', 'session.completed')`;

/**
 * The tables of the sqlite store, as numbered steps; `PRAGMA user_version` is the number of steps that were done.
 *
 * `heads` has the row of a session that changes most often: counters, fence, lease and when it is due. `events` is the
 * log. Everything else is derived from it in the same transaction. Times of the log are ISO text, times of leases are
 * milliseconds.
 */
export const MIGRATIONS: readonly string[] = [
  `
create table heads (
  session_id text primary key,
  tenant text not null,
  last_sequence integer not null,
  message_count integer not null default 0,
  run_count integer not null default 0,
  fence integer not null default 0,
  owner text,
  leased_until integer not null default 0,
  due_at integer,
  fact_version integer not null,
  updated_at text not null
) without rowid;
create index heads_due on heads (due_at) where due_at is not null;
create index heads_owner on heads (owner) where owner is not null;

-- Bodies over 256 KiB, by the SHA-256 of their text.
create table blobs (hash text primary key, body text not null) without rowid;

create table events (
  position integer primary key,
  session_id text not null,
  sequence integer not null check (sequence > 0),
  id text not null unique,
  event_type text not null,
  data text not null,
  blob text references blobs (hash),
  run_id text,
  step integer,
  fact_version integer not null,
  created_at text not null,
  unique (session_id, sequence)
);
create index events_run on events (run_id) where run_id is not null;
create index events_type on events (event_type, created_at);
create index events_blob on events (blob) where blob is not null;

create table sessions (
  id text primary key,
  tenant text not null,
  agent_id text not null,
  agent_version integer not null check (agent_version > 0),
  title text check (length(title) <= 255),
  tags text not null,
  model text not null check (length(model) <= 100),
  model_id text,
  working_directory text check (length(working_directory) <= 500),
  metadata text not null,
  status text not null check (status in ('idle', 'running', 'awaiting')),
  outcome text check (outcome in ('completed', 'failed', 'cancelled')),
  run_id text,
  current_step integer not null default 0 check (current_step >= 0),
  container_id text,
  created_at text not null,
  -- When a column by which sessions are listed last changed. Most steps leave it unchanged: each change writes its index. The
  -- time of the last event is in heads, without an index.
  changed_at text not null,
  started_at text,
  finished_at text,
  last_run_at text,
  parent_session_id text,
  forked_from_sequence integer,
  subagent_of_session_id text,
  subagent_of_tool_use_id text,
  last_known_input_tokens integer not null default 0,
  last_known_output_tokens integer not null default 0,
  total_turns integer not null default 0 check (total_turns >= 0),
  cost_micros integer not null default 0 check (cost_micros >= 0),
  unpriced_calls integer not null default 0,
  input_tokens integer not null default 0,
  output_tokens integer not null default 0,
  cache_creation_input_tokens integer not null default 0,
  cache_read_input_tokens integer not null default 0,
  platform_status text not null generated always as (
    case when status <> 'idle' then 'running' when outcome is null then 'pending'
         when outcome = 'completed' then 'completed' else 'failed' end) virtual
) without rowid;
create index sessions_created on sessions (tenant, created_at, id);
create index sessions_status on sessions (tenant, platform_status, created_at, id);
create index sessions_agent on sessions (tenant, agent_id, created_at, id);
create index sessions_parent on sessions (parent_session_id, created_at, id) where parent_session_id is not null;
create index sessions_caller on sessions (subagent_of_session_id, created_at, id) where subagent_of_session_id is not null;
create index sessions_last_run on sessions (last_run_at);
create index sessions_changed on sessions (changed_at);

create table session_tags (
  tenant text not null,
  tag text not null,
  created_at text not null,
  session_id text not null,
  primary key (tenant, tag, created_at, session_id)
) without rowid;
create index session_tags_session on session_tags (session_id);

create table messages (
  id text not null,
  session_id text not null,
  message_id text not null,
  part integer not null,
  number integer,
  role text not null check (role in ('user', 'assistant', 'tool_call', 'tool_result', 'system')),
  content text not null,
  tool_call_id text,
  run_id text,
  sequence integer not null,
  created_at text not null,
  primary key (session_id, message_id, part)
) without rowid;
-- A waiting prompt has no number yet, so it is not in this index until it enters the transcript.
create unique index messages_number on messages (session_id, number) where number is not null;

create table runs (
  id text primary key,
  session_id text not null,
  number integer not null,
  started_at text not null,
  completed_at text,
  outcome text check (outcome in ('completed', 'failed', 'cancelled')),
  stop_reason text,
  user_message text not null,
  final_response text,
  total_steps integer not null default 0,
  model text not null default '',
  long_context_applied integer not null default 0,
  first_sequence integer not null,
  last_sequence integer,
  cost_micros integer not null default 0,
  unpriced_calls integer not null default 0,
  input_tokens integer not null default 0,
  output_tokens integer not null default 0,
  cache_creation_input_tokens integer not null default 0,
  cache_read_input_tokens integer not null default 0,
  input_micros integer not null default 0,
  output_micros integer not null default 0,
  cache_write_micros integer not null default 0,
  cache_read_micros integer not null default 0,
  unique (session_id, number)
) without rowid;
create index runs_started on runs (session_id, started_at);

create table awaits (
  session_id text not null,
  tool_use_id text not null,
  run_id text not null,
  kind text not null check (kind in ('frontend_tool', 'question', 'approval', 'subagent')),
  name text not null,
  input text not null,
  expires_at text,
  opened_at text not null,
  closed_at text,
  resolution text check (resolution in ('answered', 'timed_out', 'cancelled')),
  -- Counts the session's awaits: a call may wait twice, for an approval and then for its result.
  place integer not null,
  primary key (session_id, place)
) without rowid;

create table checkpoints (
  id text primary key,
  session_id text not null,
  user_message_uuid text not null check (length(user_message_uuid) <= 100),
  files_modified text not null,
  created_at text not null,
  unique (session_id, user_message_uuid)
) without rowid;

create table files (
  session_id text not null,
  run_id text not null,
  file_id text not null,
  filename text not null,
  storage_path text not null,
  size integer not null,
  mime_type text not null,
  step integer not null,
  created_at text not null,
  place integer not null,
  primary key (session_id, place)
) without rowid;

-- Idempotency keys. A row refers to events in a log, and contains no answer.
create table keys (
  tenant text not null,
  key text not null,
  fingerprint text not null,
  session_id text not null,
  first_sequence integer not null,
  last_sequence integer not null,
  primary key (tenant, key)
) without rowid;
create index keys_session on keys (session_id);

create table snapshots (
  session_id text primary key,
  sequence integer not null,
  version integer not null,
  state text not null
) without rowid;

create table records (
  tenant text not null,
  kind text not null,
  id text not null,
  version integer not null,
  value text not null,
  fields text not null,
  created_at text not null,
  updated_at text not null,
  primary key (tenant, kind, id)
) without rowid;
create table record_fields (
  tenant text not null,
  kind text not null,
  name text not null,
  value text not null,
  id text not null,
  primary key (tenant, kind, name, value, id)
) without rowid;
`,
  `
-- The metadata by which sessions are found, in the order of the list. Objects, lists and long values are left out.
create table session_metadata (
  tenant text not null,
  key text not null,
  value text not null,
  created_at text not null,
  session_id text not null,
  primary key (tenant, key, value, created_at, session_id)
) without rowid;
create index session_metadata_session on session_metadata (session_id);
insert into session_metadata
select s.tenant, m.key, case m.type when 'text' then m.value else s.metadata -> m.fullkey end, s.created_at, s.id
from sessions s, json_each(s.metadata) m
where m.type not in ('object', 'array') and length(m.key) <= 64 and coalesce(length(m.value), 0) <= 255
on conflict do nothing;
-- Finds the session of a folder that ran last.
create index sessions_used on sessions (tenant, agent_id, working_directory, coalesce(last_run_at, created_at), id);
`,
  `
-- The usage of a run by model. Older runs are counted from their log.
create table run_models (
  session_id text not null,
  run_id text not null,
  model text not null,
  cost_micros integer not null,
  unpriced_calls integer not null,
  input_tokens integer not null,
  output_tokens integer not null,
  cache_creation_input_tokens integer not null,
  cache_read_input_tokens integer not null,
  primary key (session_id, run_id, model)
) without rowid;
insert into run_models
select session_id, body ->> '$.run_id', coalesce(body ->> '$.model', ''),
  sum(coalesce(body ->> '$.cost.total_micros', 0)),
  sum(coalesce(json_type(body, '$.cost'), 'null') <> 'object'),
  sum(coalesce(body ->> '$.usage.input_tokens', 0)),
  sum(coalesce(body ->> '$.usage.output_tokens', 0)),
  sum(coalesce(body ->> '$.usage.cache_creation_input_tokens', 0)),
  sum(coalesce(body ->> '$.usage.cache_read_input_tokens', 0))
from (
  select e.session_id, coalesce(b.body, e.data) as body from events e left join blobs b on b.hash = e.blob
  where e.event_type in ('step.generated', 'step.abandoned', 'subagent.messaged')
)
where json_type(body, '$.usage') = 'object' and body ->> '$.run_id' is not null
group by 1, 2, 3;
`,
  `
-- Finds the session of a tenant that ran last. A session that never ran is sorted by its creation.
create index sessions_last_used on sessions (tenant, coalesce(last_run_at, created_at), id);
`,
  `
-- The exact cost is micros * 1000000 + rest, in pico-dollars. Each column is a separate sum, without a carry.
alter table sessions add column cost_rest integer not null default 0;
alter table sessions add column estimated_calls integer not null default 0;
alter table sessions add column simulated_calls integer not null default 0;
-- What interrupted calls may have cost beyond their known cost, and until when this amount counts against budgets.
alter table sessions add column reserved_micros integer not null default 0;
alter table sessions add column reserved_until text;
alter table runs add column cost_rest integer not null default 0;
alter table runs add column estimated_calls integer not null default 0;
alter table runs add column simulated_calls integer not null default 0;
alter table runs add column input_rest integer not null default 0;
alter table runs add column output_rest integer not null default 0;
alter table runs add column cache_write_rest integer not null default 0;
alter table runs add column cache_read_rest integer not null default 0;
alter table runs add column reserved_micros integer not null default 0;
alter table run_models add column cost_rest integer not null default 0;
alter table run_models add column estimated_calls integer not null default 0;
alter table run_models add column simulated_calls integer not null default 0;
`,
  `
alter table sessions add column opened_by text;
alter table sessions add column has_unknown_effect integer not null default 0;
update sessions set has_unknown_effect = 1 where id in (
  select session_id from events where event_type = 'tool.completed' and data ->> '$.outcome' = 'unknown');
-- The few sessions with an unknown effect are listed by this index.
create index sessions_unknown_effect on sessions (tenant, created_at, id) where has_unknown_effect = 1;
`,
  `
-- Each type of event in a turn wrote another page of events_type: a fifth of all pages that the turn wrote. The new index
-- leaves out types that every turn has: a search for one of them reads a large part of the log anyway.
drop index events_type;
create index events_rare on events (event_type, created_at) where ${RARE_EVENT};
-- The index of runs by number finds the same rows.
drop index runs_started;
`,
  `
-- When an event happened. Null if that is when it was written, so only for adopted and imported sessions not null: their first
-- runs began before the session was created.
alter table events add column happened_at text;
update events set happened_at = data ->> 'happened_at'
where data like '{"happened_at":%' and session_id in (
  select r.session_id from runs r join sessions s on s.id = r.session_id where r.started_at < s.created_at);
drop index events_rare;
create index events_rare on events (event_type, coalesce(happened_at, created_at)) where ${RARE_EVENT};
`,
];
