/** The tables of the platform API. `data` and `content` are the exact JSON that was written. */
export const platform = /* sql */ `
create schema if not exists platform;

create or replace view platform.agents as
select
  r.id::uuid as id,
  d->>'name' as name,
  d->>'description' as description,
  d->>'system_prompt' as system_prompt,
  (d->>'default_model_id')::uuid as default_model_id,
  array(select jsonb_array_elements_text(d->'tags')) as tags,
  d->>'status' as status,
  (d->>'created_at')::timestamptz as created_at,
  (d->>'updated_at')::timestamptz as updated_at
from skein.records r cross join lateral (select skein.shown(r.value) as d offset 0) x
where r.kind = 'agent';

create or replace view platform.llm_models as
select
  r.id::uuid as id,
  d->>'name' as name,
  d->>'provider' as provider,
  (d->>'is_default')::boolean as is_default,
  (d->>'created_at')::timestamptz as created_at
from skein.records r cross join lateral (select skein.shown(r.value) as d offset 0) x
where r.kind = 'llm_model';

create or replace view platform.sessions as
select s.id, s.agent_id, s.title::text as title, s.tags, s.model_id, s.platform_status as status, s.created_at, s.started_at,
  s.finished_at
from skein.sessions s;

create or replace view platform.messages as
select m.id, m.session_id, m.number::integer as sequence, m.role::text as role, m.content, m.tool_call_id, m.created_at
from skein.messages m where m.number is not null;

create or replace view platform.events as
select e.id, e.session_id, e.sequence::integer as sequence, e.event_type, skein.body(e.data, e.blob) as data,
  date_trunc('milliseconds', e.created_at) as created_at
from skein.events e;
`;
