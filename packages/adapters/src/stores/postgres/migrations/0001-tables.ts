/**
 * The physical tables. Everything else that a seed names is a view of these.
 *
 * - A body is `json`, which keeps the text as it was written; `jsonb` reorders keys and refuses NUL and lone surrogates.
 * - `heads` is small and written by every append; `sessions` has the columns that people list by, and is written only when
 *   one of them changes. Together in one row, every append would touch every index.
 * - `created_at` of an event has the writer's milliseconds; its microseconds count the events of one session within the
 *   same millisecond, so that ordering by time is the order of the log.
 */
export const tables = /* sql */ `
-- Which text the views of the seeds were made from; they are made anew when it changes.
create table skein.views (hash text not null);

create table skein.heads (
  session_id uuid primary key,
  tenant text not null check (tenant <> '' and length(tenant) <= 100),
  last_sequence integer not null check (last_sequence >= 0),
  -- The highest version of a fact in the log: a worker that is older leaves the session to a newer one.
  fact_version smallint not null,
  message_count integer not null default 0,
  run_count integer not null default 0,
  updated_at timestamptz not null,
  -- Raised by every claim and every release, so that a writer with an old one is recognised.
  fence bigint not null default 0,
  owner text,
  leased_until timestamptz,
  -- Null = asleep, past = ready, future = timer.
  due_at timestamptz
) with (fillfactor = 70);
create index heads_due on skein.heads (due_at) where due_at is not null;
create index heads_owner on skein.heads (owner) where owner is not null;

create table skein.blobs (
  hash bytea primary key check (length(hash) = 32),
  body text not null
);

create table skein.events (
  -- No foreign key: skein.append has locked the head, and the check would cost a fifth of an append.
  session_id uuid not null,
  sequence integer not null check (sequence > 0),
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
  id uuid primary key references skein.heads on delete cascade,
  tenant text not null,
  agent_id uuid not null,
  agent_version integer not null check (agent_version > 0),
  title text check (length(title) <= 255),
  tags text[] not null default '{}',
  model text not null check (length(model) <= 100),
  model_id uuid,
  working_directory text check (length(working_directory) <= 500),
  metadata json not null default '{}',
  status text not null default 'idle' check (status in ('idle', 'running', 'awaiting')),
  outcome text check (outcome in ('completed', 'failed', 'cancelled')),
  -- Seed 004's word for both, stored because people list by it.
  platform_status text not null generated always as (
    case
      when status <> 'idle' then 'running'
      when outcome is null then 'pending'
      when outcome = 'completed' then 'completed'
      else 'failed'
    end
  ) stored,
  run_id uuid,
  current_step integer not null default 0 check (current_step >= 0),
  container_id text,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  last_run_at timestamptz,
  -- No foreign key: a fork stays whole when its parent is deleted.
  parent_session_id uuid,
  forked_from_sequence integer,
  subagent_of_session_id uuid,
  subagent_of_tool_use_id text,
  total_runs integer not null default 0 check (total_runs >= 0),
  total_turns integer not null default 0 check (total_turns >= 0),
  cost_micros bigint not null default 0 check (cost_micros >= 0),
  unpriced_calls integer not null default 0 check (unpriced_calls >= 0),
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cache_creation_input_tokens bigint not null default 0,
  cache_read_input_tokens bigint not null default 0,
  last_known_input_tokens bigint not null default 0,
  last_known_output_tokens bigint not null default 0,
  -- When this row last changed. Looked up by; the time of the last event is on the head, where an index would make every
  -- append write one more page.
  changed_at timestamptz not null
) with (fillfactor = 80);
create index sessions_changed on skein.sessions (changed_at desc);
create index sessions_created on skein.sessions (tenant, created_at desc, id desc);
create index sessions_status on skein.sessions (tenant, platform_status, created_at desc, id desc);
-- Seed 000 looks sessions up by its own words for their status, and by time, without naming a tenant.
create index sessions_api_status on skein.sessions (
  ((case platform_status when 'completed' then 'completed' when 'failed' then 'error' else 'active' end)::varchar(20)));
create index sessions_api_created on skein.sessions (created_at desc);
create index sessions_agent on skein.sessions (tenant, agent_id, created_at desc, id desc);
create index sessions_tags on skein.sessions using gin (tags) where tags <> '{}';
create index sessions_parent on skein.sessions (parent_session_id, created_at desc, id desc)
  where parent_session_id is not null;
create index sessions_caller on skein.sessions (subagent_of_session_id, created_at desc, id desc)
  where subagent_of_session_id is not null;
create index sessions_last_run on skein.sessions (last_run_at desc) where last_run_at is not null;

create table skein.runs (
  id uuid not null,
  session_id uuid not null references skein.heads on delete cascade,
  number integer not null check (number > 0),
  started_at timestamptz not null,
  completed_at timestamptz,
  outcome text check (outcome in ('completed', 'failed', 'cancelled')),
  stop_reason text check (length(stop_reason) <= 50),
  user_message text not null,
  final_response text,
  total_steps integer not null default 0 check (total_steps >= 0),
  model text not null default '',
  long_context_applied boolean not null default false,
  first_sequence integer not null,
  last_sequence integer,
  cost_micros bigint not null default 0 check (cost_micros >= 0),
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
);
create index runs_started on skein.runs (session_id, started_at desc);

create table skein.messages (
  id uuid not null,
  session_id uuid not null references skein.heads on delete cascade,
  message_id uuid not null,
  part integer not null,
  -- Null until the message enters the transcript.
  number integer check (number > 0),
  role text not null check (role in ('user', 'assistant', 'tool_call', 'tool_result', 'system')),
  content json not null,
  tool_call_id text,
  run_id uuid,
  -- The event that brought the content.
  sequence integer not null,
  created_at timestamptz not null,
  primary key (id, session_id),
  constraint messages_number unique (session_id, number)
);

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
  -- Seed 002's entry of generated_files, as the log has it.
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

-- Idempotency keys. A row points into a log and holds no answer.
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
