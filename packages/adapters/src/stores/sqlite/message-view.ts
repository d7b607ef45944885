import { INIT_LEFT_OUT, RESULT_LEFT_OUT } from "@skein/protocol";

/** The rows of session_messages in sqlite. They equal the rows of `createMessageRows` in the protocol package. */

const without = (json: string, keys: readonly string[]): string =>
  `json_remove(${json}, ${keys.map((key) => `'$.${key}'`).join(", ")})`;

/** Content as blocks; plain text becomes one text block. */
const blocks = (json: string, path: string): string => `json(case json_type(${json}, '${path}')
  when 'text' then json_array(json_object('type', 'text', 'text', ${json} ->> '${path}'))
  when 'array' then ${json} -> '${path}' else '[]' end)`;

const usage = (json: string): string =>
  `json(case json_type(${json}, '$.usage') when 'object' then json_object(${[
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
  ]
    .map((key) => `'${key}', coalesce(${json} ->> '$.usage.${key}', 0)`)
    .join(", ")}) else 'null' end)`;

const listed = (json: string, path: string): string =>
  `json_each(case json_type(${json}, '${path}') when 'array' then ${json} -> '${path}' else '[]' end)`;

/** Returns the SQL for the names in a list. The entries of the list are names, or objects with a name. */
const names = (json: string, path: string): string => `json((
  select json_group_array(case j.type when 'text' then j.value else j.value ->> '$.name' end) from ${listed(json, path)} j
  where j.type = 'text' or (j.type = 'object' and json_type(j.value, '$.name') = 'text')))`;

const INFO = "(e.body -> 'info')";

const servers = `json((select json_group_array(json(case j.value ->> '$.status'
    when 'connected' then json_object('name', j.value ->> '$.name', 'status', 'connected', 'state', 'connected')
    else json_object('name', j.value ->> '$.name', 'status', 'failed', 'error',
      case json_type(j.value, '$.error') when 'text' then j.value ->> '$.error'
        else 'The MCP server ' || (j.value ->> '$.name') || ' is not connected: ' || (j.value ->> '$.status') || '.' end,
      'state', j.value ->> '$.status') end))
  from ${listed(INFO, "$.mcp_servers")} j where j.type = 'object' and json_type(j.value, '$.name') = 'text'))`;

const init = `json_set(${without(INFO, INIT_LEFT_OUT)}, '$.subtype', 'init', '$.session_id', e.session_id,
  '$.model', coalesce(${INFO} ->> '$.model', (
    select s.body ->> '$.agent.model' from event_bodies s where s.session_id = e.session_id and s.sequence = 1)),
  '$.tools', ${names(INFO, "$.tools")}, '$.mcp_servers', ${servers}, '$.plugins', ${names(INFO, "$.plugins")},
  '$.commands', case json_type(${INFO}, '$.slash_commands') when 'array' then ${names(INFO, "$.slash_commands")}
    else ${names(INFO, "$.commands")} end)`;

const noticed = `json(case coalesce(
    case json_type(e.body, '$.notice.content') when 'text' then '$.notice.content' end,
    case json_type(e.body, '$.notice.message') when 'text' then '$.notice.message' end,
    case json_type(e.body, '$.notice.summary') when 'text' then '$.notice.summary' end, '')
  when '$.notice.content' then ${blocks("e.body", "$.notice.content")}
  when '$.notice.message' then ${blocks("e.body", "$.notice.message")}
  when '$.notice.summary' then ${blocks("e.body", "$.notice.summary")}
  else ${blocks("e.body", "$.notice.message.content")} end)`;

const isFailed = "e.event_type = 'session.failed'";
const truth = (condition: string): string => `json(case when ${condition} then 'true' else 'false' end)`;

/** `dollars` converts an expression of micro-dollars to dollars. */
const result = (dollars: (micros: string) => string): string => `json_patch(json_set(
  ${without("coalesce(e.body -> 'result', '{}')", RESULT_LEFT_OUT)},
  '$.subtype', coalesce(e.body ->> '$.result.subtype', case when ${isFailed} then e.body ->> 'stop_reason' else 'success' end),
  '$.session_id', e.session_id, '$.is_error', ${truth(isFailed)}, '$.duration_ms', e.body ->> 'duration_ms',
  '$.num_turns', coalesce(e.body ->> '$.result.num_turns', e.body ->> 'step'),
  '$.total_cost_usd', case when e.body ->> 'unpriced_calls' = 0 then ${dollars("(e.body ->> 'cost_micros')")} end,
  '$.usage', json(e.body -> 'usage'),
  '$.result', case when ${isFailed} then case json_type(e.body, '$.result.result') when 'text' then e.body ->> '$.result.result' end
    else e.body ->> 'final_response' end,
  '$.structured_output', json(coalesce(e.body -> '$.result.structured_output', 'null')),
  '$.is_complete', ${truth(`not ${isFailed}`)},
  '$.stop_reason', case when e.body ->> 'stop_reason' = 'max_steps' then 'max_turns_reached' when not ${isFailed} then 'completed'
    when e.body ->> 'outcome' = 'cancelled' then 'interrupted' else 'error' end,
  '$.error', json(coalesce(e.body -> 'error', 'null'))), case when e.body ->> 'simulated' then '{"simulated":true}' else '{}' end)`;

const SAID = `'type', t.role, 'role', t.role, 'content', ${blocks("t.message", "$.content")}, 'uuid', t.id`;

export const messageView = (dollars: (micros: string) => string): string => `
create view api_session_messages as
select t.id, t.session_id, t.role as message_type, case when o.body is null
    then json_object(${SAID}) else json_object(${SAID}, 'model', o.body ->> 'model', 'usage', ${usage("o.body")}) end as content,
  t.created_at, t.sequence
from transcript t left join messages m on t.role = 'assistant' and m.session_id = t.session_id and m.message_id = t.id and m.part = 0
left join event_bodies o on o.session_id = m.session_id and o.sequence = m.sequence and o.event_type = 'step.generated'
union all
select e.body ->> 'message_id', e.session_id, e.body ->> 'role',
  json_object('type', e.body ->> 'role', 'role', e.body ->> 'role', 'content', ${blocks("e.body", "$.content")},
    'uuid', e.body ->> 'message_id', 'model', e.body ->> 'model', 'usage', ${usage("e.body")},
    'parent_tool_use_id', e.body ->> 'parent_tool_use_id'),
  coalesce(e.body ->> 'happened_at', e.created_at), e.sequence
from event_bodies e where e.event_type = 'subagent.messaged'
union all
-- System messages: the start of the runtime, its notices, and retries of model calls.
select coalesce(e.body ->> 'message_id', e.id), e.session_id, 'system', case e.event_type
    when 'runtime.started' then case json_type(${INFO}, '$.permissionMode')
      when 'text' then json_set(${init}, '$.permission_mode', ${INFO} ->> '$.permissionMode') else ${init} end
    when 'runtime.noticed' then json_object('type', 'system', 'subtype', e.body ->> 'subtype', 'content', ${noticed},
      'uuid', e.body ->> 'message_id', 'notice', json(e.body -> 'notice'))
    else json_object('type', 'system', 'subtype', 'api_retry', 'content', json('[]'), 'notice', json_object(
      'attempt', e.body ->> 'attempt', 'error', e.body ->> '$.error.message', 'error_status', e.body ->> '$.error.status',
      'retry_delay_ms', e.body ->> 'delay_ms'))
  end, coalesce(e.body ->> 'happened_at', e.created_at), e.sequence
from event_bodies e where e.event_type in ('runtime.started', 'runtime.noticed', 'step.retried')
union all
select e.id, e.session_id, 'result', case when json_type(e.body, '$.result.stop_reason') is null then ${result(dollars)}
    else json_set(${result(dollars)}, '$.model_stop_reason', json(e.body -> '$.result.stop_reason')) end,
  coalesce(e.body ->> 'happened_at', e.created_at), e.sequence
from event_bodies e where e.event_type in ('session.completed', 'session.failed');
`;
