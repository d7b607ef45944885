import { createHash } from "node:crypto";
import { ACTIONS_PER_EVENT, type ActionSql, agentRunsSelect } from "../sql/agent-runs.ts";
import { messageView } from "./message-view.ts";
import { RARE_EVENT } from "./schema.ts";

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const BODY = "coalesce((select body from blobs where hash = e.blob), e.data)";

/**
 * Returns the SQL for the context (the messages that the model is shown) at a place in a log. The context has the
 * messages of the last compaction, and the messages that entered the transcript after the compaction.
 */
const context = (sessionId: string, until: string): string => `(
  select json_group_array(json(message)) from (
    select c.value as message, 0 as part, c.key as place
    from compactions k, json_each(k.messages) c
    where k.session_id = ${sessionId} and k.sequence = (
      select max(sequence) from compactions where session_id = ${sessionId} and sequence <= ${until})
    union all
    select t.message, 1, t.sequence from transcript t
    where t.session_id = ${sessionId} and t.sequence <= ${until} and t.sequence > coalesce((
      select max(sequence) from compactions where session_id = ${sessionId} and sequence <= ${until}), 0)
    order by 2, 3))`;

/** The sqlite expressions for the rows of agent_runs. */
const actionSql: ActionSql = {
  logId: (n) => `e.position * ${ACTIONS_PER_EVENT} + ${n}`,
  findable: (type) => (RARE_EVENT.includes(quoted(type)) ? "" : ` and e.${RARE_EVENT}`),
  pick: (path) => path.reduce((value, key) => `${value} -> ${quoted(key)}`, BODY),
  integer: (key) => `cast(${BODY} ->> ${quoted(key)} as integer)`,
  has: (key, value) =>
    `coalesce(${BODY} ->> ${quoted(key)} = ${typeof value === "boolean" ? Number(value) : quoted(value)}, 0)`,
  boolean: (condition) => `json(case when ${condition} then 'true' else 'false' end)`,
  text: (text) => quoted(text),
  object: (members) => `json_object(${members.map(([key, value]) => `${quoted(key)}, ${value}`).join(", ")})`,
  shownMessages: `json(${context("e.session_id", "e.sequence")})`,
  noMessages: "null",
  noInteger: "null",
  actionType: (action) => quoted(action),
};

/** Returns the SQL for an amount in dollars, from its micro-dollars and the remaining pico-dollars. */
const dollars = (micros: string, rest: string): string => `(${micros} + ${rest} / 1000000.0) / 1000000.0`;
const part = (name: string): string => dollars(`r.${name}_micros`, `r.${name}_rest`);
/** Returns the SQL for the part of a run's cost that no other column contains. */
const rest = (of: string): string =>
  `(r.cost_${of} - ${["input", "output", "cache_write", "cache_read"].map((name) => `r.${name}_${of}`).join(" - ")})`;

/**
 * The tables of the platform API and the Claude API, and the agent tables, as views.
 *
 * sqlite has no schemas, and both APIs have a table `sessions`. So names of the platform API begin with `platform_`,
 * and names of the Claude API with `api_`. The three agent tables keep their names, so that existing queries run
 * unchanged.
 */
export const VIEWS = `
create view event_bodies as
select e.position, e.session_id, e.sequence, e.id, e.event_type, e.run_id, e.created_at, ${BODY} as body from events e;

create view compactions as
select session_id, sequence, body -> 'messages' as messages from event_bodies
where event_type = 'compaction.checked' and json_type(body, '$.messages') = 'array';

-- Each message of the transcript, in the format of the Messages API. The results of a step are one message.
create view transcript as
select e.session_id, e.sequence, e.run_id, e.body ->> 'message_id' as id, e.body ->> 'role' as role,
  coalesce(e.body ->> 'happened_at', e.created_at) as created_at,
  json_object('role', e.body ->> 'role', 'content', e.body -> 'content') as message
from event_bodies e where e.event_type = 'message.copied'
union all
select e.session_id, e.sequence, e.run_id, e.body ->> 'message_id', e.body ->> 'role', coalesce(e.body ->> 'happened_at', e.created_at),
  json_object('role', e.body ->> 'role', 'content', json(coalesce(
    (select json_group_array(json(part)) from (select json_patch(
        json_object('type', 'tool_result', 'tool_use_id', o.body ->> 'tool_use_id', 'content', o.body -> 'content'),
        case when o.body ->> 'is_error' then '{"is_error":true}' else '{}' end) as part
      from messages m join event_bodies o on o.session_id = m.session_id and o.sequence = m.sequence
      where m.session_id = e.session_id and m.message_id = e.body ->> 'message_id' and o.event_type = 'tool.completed'
      order by m.number) having count(*) > 0),
    (select o.body -> 'content' from messages m join event_bodies o on o.session_id = m.session_id and o.sequence = m.sequence
      where m.session_id = e.session_id and m.message_id = e.body ->> 'message_id' and m.part = 0))))
from event_bodies e where e.event_type = 'message.created';

create view platform_agents as
select id, value ->> 'name' as name, value ->> 'description' as description, value ->> 'system_prompt' as system_prompt,
  value ->> 'default_model_id' as default_model_id, value -> 'tags' as tags, value ->> 'status' as status,
  value ->> 'created_at' as created_at, value ->> 'updated_at' as updated_at
from records where kind = 'agent';

create view platform_llm_models as
select id, value ->> 'name' as name, value ->> 'provider' as provider, value ->> 'is_default' as is_default,
  value ->> 'created_at' as created_at
from records where kind = 'llm_model';

create view platform_sessions as
select id, agent_id, title, tags, model_id, platform_status as status, created_at, started_at, finished_at from sessions;

create view platform_messages as
select id, session_id, number as sequence, role, content, tool_call_id, created_at from messages where number is not null;

create view platform_events as
select id, session_id, sequence, event_type, body as data, created_at from event_bodies;

create view agent_config as
select
  s.id as agent_uuid,
  a.body ->> '$.agent.system_prompt' as system_prompt,
  s.model,
  a.body ->> '$.agent.max_steps' as max_steps,
  a.body ->> '$.agent.thinking_tokens' as thinking_tokens,
  a.body ->> '$.agent.max_tokens' as max_tokens,
  s.container_id,
  ${context("s.id", "h.last_sequence")} as messages,
  a.body -> '$.agent.tool_schemas' as tool_schemas,
  (select json_group_array(t.value ->> 'name') from json_each(a.body, '$.agent.tool_schemas') t) as tool_names,
  a.body -> '$.agent.server_tools' as server_tools,
  a.body -> '$.agent.beta_headers' as beta_headers,
  a.body -> '$.agent.api_kwargs' as api_kwargs,
  a.body ->> '$.agent.formatter' as formatter,
  a.body ->> '$.agent.stream_meta_history_and_tool_results' as stream_meta_history_and_tool_results,
  a.body ->> '$.agent.compactor_type' as compactor_type,
  a.body ->> '$.agent.memory_store_type' as memory_store_type,
  (select json_group_object(f.file_id, json_object(
      'filename', f.filename, 'storage_path', f.storage_path, 'size', f.size, 'mime_type', f.mime_type,
      'created_in_run', (select run_id from files o where o.session_id = s.id and o.file_id = f.file_id order by place limit 1),
      'last_updated_run', f.run_id, 'last_updated_at', f.created_at))
    from files f where f.session_id = s.id
      and f.place = (select max(place) from files l where l.session_id = s.id and l.file_id = f.file_id)) as file_registry,
  a.body -> '$.agent.extras' as extras,
  a.body ->> '$.agent.max_retries' as max_retries,
  a.body ->> '$.agent.base_delay' as base_delay,
  s.last_known_input_tokens,
  s.last_known_output_tokens,
  (select json_group_array(json(call)) from (
      select json_object('tool_use_id', o.tool_use_id, 'name', o.name, 'input', json(o.input)) as call
      from awaits o where o.session_id = s.id and o.closed_at is null and o.kind = 'frontend_tool'
      order by o.opened_at, o.place)) as pending_frontend_tools,
  (select json_group_array(json(part)) from (select json_patch(
      json_object('type', 'tool_result', 'tool_use_id', e.body ->> 'tool_use_id', 'content', e.body -> 'content'),
      case when e.body ->> 'is_error' then '{"is_error":true}' else '{}' end) as part
    from messages m join event_bodies e on e.session_id = m.session_id and e.sequence = m.sequence
    where m.session_id = s.id and m.number is null and m.role = 'tool_result' order by m.part)) as pending_backend_results,
  s.status = 'awaiting' and exists (
    select 1 from awaits o where o.session_id = s.id and o.closed_at is null and o.kind = 'frontend_tool') as awaiting_frontend_tools,
  s.current_step,
  case when s.status = 'awaiting' then (
      select json_group_array(json(message)) from (
        select t.message from transcript t where t.session_id = s.id and t.run_id = s.run_id order by t.sequence))
    else '[]' end as conversation_history,
  s.title,
  s.created_at,
  s.changed_at as updated_at,
  s.last_run_at,
  h.run_count as total_runs
from sessions s join heads h on h.session_id = s.id
join event_bodies a on a.session_id = s.id and a.sequence = 1;

create view conversation_history as
select
  r.id as conversation_id,
  r.session_id as agent_uuid,
  r.id as run_id,
  r.started_at,
  r.completed_at,
  r.user_message,
  r.final_response,
  (select json_group_array(json(message)) from (
      select t.message from transcript t where t.session_id = r.session_id and t.run_id = r.id order by t.sequence)) as messages,
  r.stop_reason,
  r.total_steps,
  json_object('input_tokens', r.input_tokens, 'output_tokens', r.output_tokens,
    'cache_creation_input_tokens', r.cache_creation_input_tokens, 'cache_read_input_tokens', r.cache_read_input_tokens) as usage,
  (select json_group_array(json(file)) from (
      select json_object('file_id', f.file_id, 'filename', f.filename, 'storage_path', f.storage_path, 'size', f.size,
        'mime_type', f.mime_type, 'step', f.step, 'timestamp', f.created_at) as file
      from files f where f.session_id = r.session_id and f.run_id = r.id order by f.place)) as generated_files,
  -- Empty if a call had no price: the sum of the other calls would be too low.
  case when r.unpriced_calls > 0 or r.model = '' then '{}' else json_object(
    'input_cost', ${part("input")}, 'output_cost', ${part("output")},
    'cache_write_cost', ${part("cache_write")}, 'cache_read_cost', ${part("cache_read")},
    'server_tool_cost', ${dollars(rest("micros"), rest("rest"))}, 'total_cost', ${part("cost")},
    'total_input_tokens', r.input_tokens + r.cache_creation_input_tokens + r.cache_read_input_tokens,
    'total_output_tokens', r.output_tokens, 'total_cache_creation_tokens', r.cache_creation_input_tokens,
    'total_cache_read_tokens', r.cache_read_input_tokens, 'model_id', r.model,
    'long_context_applied', json(case when r.long_context_applied then 'true' else 'false' end), 'currency', 'USD') end as cost,
  '{}' as extras,
  r.number as sequence_number,
  coalesce(r.completed_at, r.started_at) as created_at
from runs r;

create view agent_runs as
${agentRunsSelect(actionSql)};

create view api_sessions as
select s.id, s.created_at, h.updated_at,
  case platform_status when 'completed' then 'completed' when 'failed' then 'error' else 'active' end as status,
  model, working_directory, total_turns, ${dollars("cost_micros", "cost_rest")} as total_cost_usd, parent_session_id, metadata
from sessions s join heads h on h.session_id = s.id;
${messageView((micros) => `${micros} / 1000000.0`)}
create view api_checkpoints as
select id, session_id, user_message_uuid, created_at, files_modified from checkpoints;
`;

/** The names of all views, for creating them again. */
export const VIEW_NAMES: readonly string[] = [...VIEWS.matchAll(/create view (\w+)/g)].map(([, name]) => name ?? "");

/** Identifies the text of the views in a file; sqlite stores this number in the file header. */
export const VIEWS_HASH: number = createHash("sha256").update(VIEWS).digest().readInt32BE(0);
