/** The tables of the Claude API. */
export const api = /* sql */ `
create schema if not exists api;

create or replace view api.sessions as
select
  s.id,
  s.created_at,
  h.updated_at,
  (case s.platform_status when 'completed' then 'completed' when 'failed' then 'error' else 'active' end)::varchar(20) as status,
  s.model::varchar(50) as model,
  s.working_directory::varchar(500) as working_directory,
  h.total_turns::integer as total_turns,
  skein.dollars(h.cost_micros, h.cost_rest)::numeric(10, 6) as total_cost_usd,
  s.parent_session_id,
  skein.shown(s.metadata) as metadata
from skein.sessions s join skein.heads h on h.session_id = s.id;

alter view api.sessions alter id set default gen_random_uuid();
alter view api.sessions alter created_at set default now();
alter view api.sessions alter updated_at set default now();
alter view api.sessions alter status set default 'active';
alter view api.sessions alter total_turns set default 0;

create or replace view api.session_messages as
select
  (d->>'message_id')::uuid as id, e.session_id, (d->>'role')::varchar(20) as message_type,
  skein.message(e.session_id, e.event_type, d) as content, e.created_at
from skein.events e cross join lateral (select skein.shown(e.data, e.blob) as d offset 0) x
where e.event_type in ('message.created', 'message.copied')
union all
-- What Claude Code said besides: how it came up, its notices, and what its subagents and it said to each other.
select
  coalesce((d->>'message_id')::uuid, e.id), e.session_id,
  (case e.event_type when 'subagent.messaged' then d->>'role' else 'system' end)::varchar(20),
  case e.event_type
    when 'runtime.started' then (d->'info') || '{"subtype": "init"}'
    when 'runtime.noticed' then (d->'notice') || jsonb_build_object('subtype', d->'subtype')
    else jsonb_build_object('role', d->'role', 'content', d->'content', 'model', d->'model',
      'parent_tool_use_id', d->'parent_tool_use_id')
  end,
  e.created_at
from skein.events e cross join lateral (select skein.shown(e.data, e.blob) as d offset 0) x
where e.event_type in ('runtime.started', 'runtime.noticed', 'subagent.messaged')
union all
select
  e.id, e.session_id, 'result'::varchar(20),
  jsonb_build_object(
    'subtype', coalesce(d->'result'->>'subtype',
      case when e.event_type = 'session.completed' then 'success' else d->>'stop_reason' end),
    'stop_reason', d->'stop_reason',
    'error', d->'error',
    'structured_output', d->'result'->'structured_output',
    'is_error', e.event_type = 'session.failed',
    'result', coalesce(d->'final_response', d->'error'->'message'),
    'num_turns', d->'step',
    'duration_ms', d->'duration_ms',
    'usage', d->'usage',
    'total_cost_usd', case when d->>'unpriced_calls' = '0' then coalesce(trim_scale((d->>'cost_picos')::numeric / 1e12), trim_scale((d->>'cost_micros')::numeric / 1e6)) end),
  e.created_at
from skein.events e cross join lateral (select skein.shown(e.data, e.blob) as d offset 0) x
where e.event_type in ('session.completed', 'session.failed');

alter view api.session_messages alter id set default gen_random_uuid();
alter view api.session_messages alter created_at set default now();

create or replace view api.checkpoints as
select c.id, c.session_id, c.user_message_uuid::varchar(100) as user_message_uuid, c.created_at,
  c.files_modified::varchar[] as files_modified
from skein.checkpoints c;

alter view api.checkpoints alter id set default gen_random_uuid();
alter view api.checkpoints alter created_at set default now();
`;
