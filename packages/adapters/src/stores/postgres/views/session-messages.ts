import { INIT_LEFT_OUT, RESULT_LEFT_OUT } from "@skein/protocol";

/** The rows of session_messages in PostgreSQL. They equal the rows of `createMessageRows` in the protocol package. */

const keys = (names: readonly string[]): string => `'{${names.join(",")}}'::text[]`;

export const sessionMessages = /* sql */ `
-- Content as blocks; plain text becomes one text block.
create or replace function skein.blocks(p_content jsonb) returns jsonb language sql immutable parallel safe
return case jsonb_typeof(p_content)
  when 'string' then jsonb_build_array(jsonb_build_object('type', 'text', 'text', p_content))
  when 'array' then p_content else '[]' end;

create or replace function skein.usage_totals(p_usage jsonb) returns jsonb language sql immutable parallel safe
return case jsonb_typeof(p_usage) when 'object' then jsonb_build_object(
  'input_tokens', coalesce((p_usage->>'input_tokens')::bigint, 0),
  'output_tokens', coalesce((p_usage->>'output_tokens')::bigint, 0),
  'cache_creation_input_tokens', coalesce((p_usage->>'cache_creation_input_tokens')::bigint, 0),
  'cache_read_input_tokens', coalesce((p_usage->>'cache_read_input_tokens')::bigint, 0)) end;

create or replace function skein.elements(p_list jsonb) returns setof jsonb language sql immutable parallel safe as $$
  select * from jsonb_array_elements(case jsonb_typeof(p_list) when 'array' then p_list else '[]' end)
$$;

-- The names in a list of names, or of objects with a name.
create or replace function skein.names(p_list jsonb) returns jsonb language sql immutable parallel safe as $$
  select coalesce(jsonb_agg(name order by place), '[]') from (
    select case jsonb_typeof(v) when 'string' then v else v->'name' end as name, place
    from skein.elements(p_list) with ordinality x(v, place)) named
  where jsonb_typeof(name) = 'string'
$$;

create or replace function skein.mcp_servers(p_list jsonb) returns jsonb language sql immutable parallel safe as $$
  select coalesce(jsonb_agg(case v->>'status'
    when 'connected' then jsonb_build_object('name', v->'name', 'status', 'connected', 'state', 'connected')
    else jsonb_build_object('name', v->'name', 'status', 'failed', 'error', case jsonb_typeof(v->'error') when 'string' then v->>'error'
      else 'The MCP server ' || (v->>'name') || ' is not connected: ' || (v->>'status') || '.' end, 'state', v->>'status') end
    order by place), '[]')
  from skein.elements(p_list) with ordinality x(v, place) where jsonb_typeof(v->'name') = 'string'
$$;

create or replace function skein.noticed(p_notice jsonb) returns jsonb language sql immutable parallel safe
return skein.blocks(case 'string'
  when jsonb_typeof(p_notice->'content') then p_notice->'content'
  when jsonb_typeof(p_notice->'message') then p_notice->'message'
  when jsonb_typeof(p_notice->'summary') then p_notice->'summary'
  else p_notice->'message'->'content' end);

-- One message of the transcript; an answer also has its model and usage. p_entry is the fact that added it to the transcript.
create or replace function skein.session_message(p_session uuid, p_type text, p_entry jsonb) returns jsonb
language plpgsql stable parallel safe as $$
declare
  v_step jsonb;
begin
  if p_type = 'message.created' and p_entry->>'role' = 'assistant' then
    select skein.shown(e.data, e.blob) into v_step
    from skein.messages m join skein.events e on e.session_id = m.session_id and e.sequence = m.sequence
    where m.session_id = p_session and m.id = (p_entry->>'message_id')::uuid and e.event_type = 'step.generated';
  end if;
  return jsonb_build_object('type', p_entry->'role', 'role', p_entry->'role',
      'content', skein.blocks(skein.message(p_session, p_type, p_entry)->'content'), 'uuid', p_entry->'message_id')
    || case when v_step is null then '{}' else
      jsonb_build_object('model', v_step->'model', 'usage', skein.usage_totals(v_step->'usage')) end;
end $$;

create or replace function skein.init_message(p_session uuid, p_info jsonb) returns jsonb language sql stable parallel safe as $$
  select (p_info - ${keys(INIT_LEFT_OUT)}) || jsonb_build_object('subtype', 'init', 'session_id', p_session,
      'model', coalesce(p_info->>'model', (
        select skein.shown(e.data, e.blob)->'agent'->>'model' from skein.events e where e.session_id = p_session and e.sequence = 1)),
      'tools', skein.names(p_info->'tools'), 'mcp_servers', skein.mcp_servers(p_info->'mcp_servers'),
      'plugins', skein.names(p_info->'plugins'),
      'commands', skein.names(coalesce(p_info->'slash_commands', p_info->'commands')))
    || case jsonb_typeof(p_info->'permissionMode') when 'string'
      then jsonb_build_object('permission_mode', p_info->'permissionMode') else '{}' end
$$;

create or replace function skein.result_message(p_session uuid, p_type text, d jsonb) returns jsonb language sql stable parallel safe as $$
  select (coalesce(d->'result', '{}') - ${keys(RESULT_LEFT_OUT)}) || jsonb_build_object(
      'subtype', coalesce(d->'result'->>'subtype', case when is_failed then d->>'stop_reason' else 'success' end),
      'session_id', p_session, 'is_error', is_failed, 'duration_ms', d->'duration_ms',
      'num_turns', coalesce(d->'result'->'num_turns', d->'step'),
      'total_cost_usd', case when d->>'unpriced_calls' = '0' then skein.dollars((d->>'cost_micros')::bigint, 0) end,
      'usage', d->'usage',
      'result', case when not is_failed then d->'final_response'
        when jsonb_typeof(d->'result'->'result') = 'string' then d->'result'->'result' end,
      'structured_output', d->'result'->'structured_output', 'is_complete', not is_failed,
      'stop_reason', case when d->>'stop_reason' = 'max_steps' then 'max_turns_reached' when not is_failed then 'completed'
        when d->>'outcome' = 'cancelled' then 'interrupted' else 'error' end,
      'error', d->'error')
    || case when d->'result' ? 'stop_reason' then jsonb_build_object('model_stop_reason', d->'result'->'stop_reason') else '{}' end
    || case when d ? 'simulated' then jsonb_build_object('simulated', d->'simulated') else '{}' end
  from (select p_type = 'session.failed' as is_failed) x
$$;

create or replace view api.session_messages as
select coalesce((d->>'message_id')::uuid, e.id) as id, e.session_id,
  (case when e.event_type in ('session.completed', 'session.failed') then 'result' else coalesce(d->>'role', 'system') end)::varchar(20)
    as message_type,
  case e.event_type
    when 'subagent.messaged' then jsonb_build_object('type', d->'role', 'role', d->'role', 'content', skein.blocks(d->'content'),
      'uuid', d->'message_id', 'model', d->'model', 'usage', skein.usage_totals(d->'usage'),
      'parent_tool_use_id', d->'parent_tool_use_id')
    when 'runtime.started' then skein.init_message(e.session_id, d->'info')
    when 'runtime.noticed' then jsonb_build_object('type', 'system', 'subtype', d->'subtype', 'content', skein.noticed(d->'notice'),
      'uuid', d->'message_id', 'notice', d->'notice')
    when 'step.retried' then jsonb_build_object('type', 'system', 'subtype', 'api_retry', 'content', '[]'::jsonb,
      'notice', jsonb_build_object('attempt', d->'attempt', 'error', d->'error'->'message', 'error_status', d->'error'->'status',
        'retry_delay_ms', d->'delay_ms'))
    when 'session.completed' then skein.result_message(e.session_id, e.event_type, d)
    when 'session.failed' then skein.result_message(e.session_id, e.event_type, d)
    else skein.session_message(e.session_id, e.event_type, d)
  end as content,
  coalesce((d->>'happened_at')::timestamptz, e.created_at) as created_at, e.sequence
from skein.events e cross join lateral (select skein.shown(e.data, e.blob) as d offset 0) x
where e.event_type in ('message.created', 'message.copied', 'subagent.messaged', 'runtime.started', 'runtime.noticed', 'step.retried',
  'session.completed', 'session.failed');

alter view api.session_messages alter id set default gen_random_uuid();
alter view api.session_messages alter created_at set default now();
`;
