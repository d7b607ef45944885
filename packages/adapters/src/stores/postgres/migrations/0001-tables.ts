/**
 * The first physical tables. Later migrations add others. The tables in the schemas `platform`, `agent` and `api` are
 * views of the physical tables.
 *
 * - A body is `json`, which keeps the text as it was written; `jsonb` reorders keys and rejects NUL and lone
 *   surrogates.
 * - `heads` is written by every append: it has the counters and the values that change with each step. `sessions` has
 *   the columns by which sessions are listed, and is written only when one of them changes. If both were one row, every
 *   append would write every index.
 * - Rows that every append writes have no foreign key to their head. The check would take a fifth of an append's time,
 *   and skein.append has locked the head anyway. skein.delete_session removes these rows.
 * - Constraints of columns are domains. With a CHECK of the table, every statement would parse the CHECK again, in a
 *   tenth of an append's time.
 * - `created_at` of an event has the milliseconds of the writer's clock. Its microseconds number the session's events
 *   in this millisecond, so that the order by time is the order of the log.
 */
export const tables = /* sql */ `
-- A hash of the text of the views, which are created again when the text changes.
create table skein.views (hash text not null);

create domain skein.tenant as text check (value <> '' and length(value) <= 100);
create domain skein.status as text check (value in ('idle', 'running', 'awaiting'));
create domain skein.outcome as text check (value in ('completed', 'failed', 'cancelled'));
create domain skein.role as text check (value in ('user', 'assistant', 'tool_call', 'tool_result', 'system'));
create domain skein.title as text check (length(value) <= 255);
create domain skein.model as text check (length(value) <= 100);
create domain skein.folder as text check (length(value) <= 500);
create domain skein.stop_reason as text check (length(value) <= 50);
-- amount: a count, from 0. place: a number in an order, from 1.
create domain skein.amount as integer check (value >= 0);
create domain skein.place as integer check (value > 0);
create domain skein.micros as bigint check (value >= 0);

create table skein.heads (
  session_id uuid primary key,
  tenant skein.tenant not null,
  last_sequence skein.amount not null,
  -- The highest version of a fact in the log: a worker that does not know this version leaves the session to a newer worker.
  fact_version smallint not null,
  message_count integer not null default 0,
  run_count integer not null default 0,
  updated_at timestamptz not null,
  -- Raised by every claim and every release, so that a writer with an old fence is recognised.
  fence bigint not null default 0,
  owner text,
  leased_until timestamptz,
  -- Null = asleep, past = ready, future = timer.
  due_at timestamptz,
  current_step skein.amount not null default 0,
  container_id text,
  total_turns skein.amount not null default 0,
  cost_micros skein.micros not null default 0,
  unpriced_calls skein.amount not null default 0,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cache_creation_input_tokens bigint not null default 0,
  cache_read_input_tokens bigint not null default 0,
  last_known_input_tokens bigint not null default 0,
  last_known_output_tokens bigint not null default 0
) with (fillfactor = 70);
create index heads_due on skein.heads (due_at) where due_at is not null;
create index heads_owner on skein.heads (owner) where owner is not null;

create table skein.blobs (
  hash bytea primary key check (length(hash) = 32),
  body text not null
);

create table skein.events (
  session_id uuid not null,
  sequence skein.place not null,
  id uuid not null,
  position bigint generated always as identity,
  v smallint not null,
  event_type text not null,
  run_id uuid,
  -- The body, or a preview of it where the body is a blob.
  data json not null,
  blob bytea references skein.blobs,
  created_at timestamptz not null,
  primary key (session_id, sequence),
  constraint events_id unique (id, session_id)
);
create index events_run on skein.events (run_id, event_type, created_at) where run_id is not null;
create index events_type on skein.events (event_type, created_at desc);
create index events_blob on skein.events (blob) where blob is not null;

create table skein.sessions (
  id uuid primary key,
  tenant skein.tenant not null,
  agent_id uuid not null,
  agent_version skein.place not null,
  title skein.title,
  tags text[] not null default '{}',
  model skein.model not null,
  model_id uuid,
  working_directory skein.folder,
  metadata json not null default '{}',
  status skein.status not null default 'idle',
  outcome skein.outcome,
  -- The platform API's word for status and outcome together. Stored, because sessions are listed by it.
  platform_status text not null generated always as (
    case
      when status <> 'idle' then 'running'
      when outcome is null then 'pending'
      when outcome = 'completed' then 'completed'
      else 'failed'
    end
  ) stored,
  run_id uuid,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  last_run_at timestamptz,
  -- No foreign key: a fork stays whole when its parent is deleted.
  parent_session_id uuid,
  forked_from_sequence integer,
  subagent_of_session_id uuid,
  subagent_of_tool_use_id text,
  -- When this row last changed. It has an index. The time of the last event is in heads without an index, which would make
  -- every append write one more page.
  changed_at timestamptz not null
) with (fillfactor = 80);
create index sessions_changed on skein.sessions (changed_at desc);
create index sessions_created on skein.sessions (tenant, created_at desc, id desc);
create index sessions_status on skein.sessions (tenant, platform_status, created_at desc, id desc);
-- The Claude API finds sessions by its own words for their status, and by time, without naming a tenant.
create index sessions_api_status on skein.sessions (
  ((case platform_status when 'completed' then 'completed' when 'failed' then 'error' else 'active' end)::varchar(20)));
create index sessions_api_created on skein.sessions (created_at desc);
create index sessions_agent on skein.sessions (tenant, agent_id, created_at desc, id desc);
create index sessions_parent on skein.sessions (parent_session_id, created_at desc, id desc)
  where parent_session_id is not null;
create index sessions_caller on skein.sessions (subagent_of_session_id, created_at desc, id desc)
  where subagent_of_session_id is not null;
create index sessions_last_run on skein.sessions (last_run_at desc) where last_run_at is not null;

-- Finds sessions by tag, in the order of the list. The array in skein.sessions has the tags in the order in which they were
-- given.
create table skein.session_tags (
  tenant text not null,
  tag text not null,
  created_at timestamptz not null,
  session_id uuid not null references skein.sessions on delete cascade,
  agent_id uuid not null,
  primary key (tenant, tag, created_at, session_id)
);
create index session_tags_session on skein.session_tags (session_id);
create index session_tags_agent on skein.session_tags (tenant, agent_id, tag, created_at, session_id);

create table skein.runs (
  id uuid not null,
  session_id uuid not null,
  number skein.place not null,
  started_at timestamptz not null,
  completed_at timestamptz,
  outcome skein.outcome,
  stop_reason skein.stop_reason,
  user_message text not null,
  final_response text,
  total_steps skein.amount not null default 0,
  model text not null default '',
  long_context_applied boolean not null default false,
  first_sequence integer not null,
  last_sequence integer,
  cost_micros skein.micros not null default 0,
  unpriced_calls integer not null default 0,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cache_creation_input_tokens bigint not null default 0,
  cache_read_input_tokens bigint not null default 0,
  input_micros bigint not null default 0,
  output_micros bigint not null default 0,
  cache_write_micros bigint not null default 0,
  cache_read_micros bigint not null default 0,
  primary key (id, session_id),
  constraint runs_number unique (session_id, number)
) with (fillfactor = 80);
create index runs_started on skein.runs (session_id, started_at desc);

create table skein.messages (
  id uuid not null,
  session_id uuid not null,
  message_id uuid not null,
  part integer not null,
  -- Null until the message enters the transcript.
  number skein.place,
  role skein.role not null,
  content json not null,
  tool_call_id text,
  run_id uuid,
  -- The event that contains the content.
  sequence integer not null,
  created_at timestamptz not null,
  primary key (id, session_id),
  constraint messages_number unique (session_id, number)
) with (fillfactor = 90);

create table skein.awaits (
  session_id uuid not null references skein.heads on delete cascade,
  place bigint generated always as identity,
  tool_use_id text not null,
  kind text not null check (kind in ('frontend_tool', 'question', 'approval', 'subagent')),
  opened json not null,
  closed_at timestamptz,
  resolution text check (resolution in ('answered', 'timed_out', 'cancelled')),
  primary key (session_id, place)
);
create index awaits_open on skein.awaits (session_id, place) where closed_at is null;

create function skein.absolute_paths(paths text[]) returns boolean language sql immutable
  return coalesce((select bool_and(path like '/%') from unnest(paths) path), true);

create table skein.checkpoints (
  id uuid not null,
  session_id uuid not null references skein.heads on delete cascade,
  place bigint generated always as identity,
  user_message_uuid text not null check (user_message_uuid <> '' and length(user_message_uuid) <= 100),
  files_modified text[] not null check (skein.absolute_paths(files_modified)),
  created_at timestamptz not null,
  primary key (id, session_id),
  constraint checkpoints_user_message unique (session_id, user_message_uuid)
);

create table skein.files (
  session_id uuid not null references skein.heads on delete cascade,
  place bigint generated always as identity,
  run_id uuid not null,
  file_id text not null,
  -- The entry of generated_files, as the log has it.
  shown json not null,
  created_at timestamptz not null,
  primary key (session_id, place)
);
create index files_run on skein.files (run_id);

create table skein.snapshots (
  session_id uuid primary key references skein.heads on delete cascade,
  sequence integer not null,
  version integer not null,
  state text not null
);

-- Idempotency keys. A row refers to events in a log, and contains no answer.
create table skein.keys (
  tenant text not null,
  key text not null,
  fingerprint text not null,
  session_id uuid not null references skein.heads on delete cascade,
  first_sequence integer not null,
  last_sequence integer not null,
  primary key (tenant, key)
);
create index keys_session on skein.keys (session_id);

create table skein.records (
  tenant text not null,
  kind text not null,
  id text collate "C" not null,
  version integer not null check (version > 0),
  value json not null,
  fields json not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (tenant, kind, id)
);

create table skein.record_fields (
  tenant text not null,
  kind text not null,
  name text not null,
  value text not null,
  id text collate "C" not null,
  primary key (tenant, kind, name, value, id),
  foreign key (tenant, kind, id) references skein.records on delete cascade
);
create index record_fields_record on skein.record_fields (tenant, kind, id);
`;
