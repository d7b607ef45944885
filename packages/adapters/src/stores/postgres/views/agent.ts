import { ACTIONS_PER_EVENT, type ActionSql, agentRunsSelect } from "../../sql/agent-runs.ts";

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
const DATA = "skein.shown(e.data, e.blob)";

/** The PostgreSQL expressions for the rows of agent_runs. */
const actionSql: ActionSql = {
  logId: (n) => `e.position * ${ACTIONS_PER_EVENT} + ${n}`,
  pick: (path) => path.reduce((value, key) => `${value}->${quoted(key)}`, "d"),
  integer: (key) => `(${DATA}->>${quoted(key)})::integer`,
  has: (key, value) => `coalesce(${DATA}->>${quoted(key)} = ${quoted(String(value))}, false)`,
  boolean: (condition) => `to_jsonb(${condition})`,
  text: (text) => `to_jsonb(${quoted(text)}::text)`,
  // The subquery parses the body once for all members of the object, and not at all if the column is not selected.
  object: (members) =>
    `(select jsonb_build_object(${members.map(([key, value]) => `${quoted(key)}, ${value}`).join(", ")})
    from (select ${DATA} as d offset 0) x)`,
  shownMessages: "skein.context(e.session_id, e.sequence)",
  noMessages: "null::jsonb",
  noInteger: "null::integer",
  actionType: (action) => `${quoted(action)}::varchar(100)`,
};

/** The agent tables. Columns that grow with every step are computed when they are read. */
export const agent = /* sql */ `
create schema if not exists agent;

create or replace view agent.agent_config as
select
  s.id as agent_uuid,
  a.agent->>'system_prompt' as system_prompt,
  s.model::varchar(100) as model,
  (a.agent->>'max_steps')::integer as max_steps,
  (a.agent->>'thinking_tokens')::integer as thinking_tokens,
  (a.agent->>'max_tokens')::integer as max_tokens,
  h.container_id::varchar(255) as container_id,
  skein.context(s.id, h.last_sequence) as messages,
  a.agent->'tool_schemas' as tool_schemas,
  array(select t->>'name' from jsonb_array_elements(a.agent->'tool_schemas') t) as tool_names,
  a.agent->'server_tools' as server_tools,
  array(select jsonb_array_elements_text(a.agent->'beta_headers')) as beta_headers,
  a.agent->'api_kwargs' as api_kwargs,
  (a.agent->>'formatter')::varchar(50) as formatter,
  (a.agent->>'stream_meta_history_and_tool_results')::boolean as stream_meta_history_and_tool_results,
  (a.agent->>'compactor_type')::varchar(50) as compactor_type,
  (a.agent->>'memory_store_type')::varchar(50) as memory_store_type,
  skein.file_registry(s.id) as file_registry,
  a.agent->'extras' as extras,
  (a.agent->>'max_retries')::integer as max_retries,
  (a.agent->>'base_delay')::double precision as base_delay,
  h.last_known_input_tokens::integer as last_known_input_tokens,
  h.last_known_output_tokens::integer as last_known_output_tokens,
  skein.pending_frontend_tools(s.id) as pending_frontend_tools,
  skein.pending_results(s.id) as pending_backend_results,
  w.awaiting as awaiting_frontend_tools,
  h.current_step::integer as current_step,
  -- Filled only while the run waits for the browser. When the run has ended, it has a row in agent.conversation_history.
  case when w.awaiting then skein.run_messages(s.id, s.run_id) else '[]'::jsonb end as conversation_history,
  s.title::varchar(255) as title,
  s.created_at,
  s.changed_at as updated_at,
  s.last_run_at,
  h.run_count as total_runs
from skein.sessions s
join skein.heads h on h.session_id = s.id
join skein.events e on e.session_id = s.id and e.sequence = 1
cross join lateral (select skein.shown(e.data, e.blob)->'agent' as agent offset 0) a
cross join lateral (
  select s.status = 'awaiting' and exists (
    select from skein.awaits o
    where o.session_id = s.id and o.closed_at is null and o.kind = 'frontend_tool') as awaiting offset 0) w;

alter view agent.agent_config alter max_steps set default 50;
alter view agent.agent_config alter thinking_tokens set default 0;
alter view agent.agent_config alter max_tokens set default 2048;
alter view agent.agent_config alter stream_meta_history_and_tool_results set default false;
alter view agent.agent_config alter extras set default '{}'::jsonb;
alter view agent.agent_config alter max_retries set default 5;
alter view agent.agent_config alter base_delay set default 1.0;
alter view agent.agent_config alter last_known_input_tokens set default 0;
alter view agent.agent_config alter last_known_output_tokens set default 0;
alter view agent.agent_config alter pending_frontend_tools set default '[]'::jsonb;
alter view agent.agent_config alter pending_backend_results set default '[]'::jsonb;
alter view agent.agent_config alter awaiting_frontend_tools set default false;
alter view agent.agent_config alter current_step set default 0;
alter view agent.agent_config alter conversation_history set default '[]'::jsonb;
alter view agent.agent_config alter created_at set default now();
alter view agent.agent_config alter updated_at set default now();
alter view agent.agent_config alter total_runs set default 0;

create or replace view agent.conversation_history as
select
  r.id as conversation_id,
  r.session_id as agent_uuid,
  r.id as run_id,
  r.started_at,
  r.completed_at,
  r.user_message,
  r.final_response,
  skein.run_messages(r.session_id, r.id) as messages,
  r.stop_reason::varchar(50) as stop_reason,
  r.total_steps::integer as total_steps,
  jsonb_build_object(
    'input_tokens', r.input_tokens, 'output_tokens', r.output_tokens,
    'cache_creation_input_tokens', r.cache_creation_input_tokens,
    'cache_read_input_tokens', r.cache_read_input_tokens) as usage,
  (select coalesce(jsonb_agg(skein.shown(f.shown) order by f.place), '[]')
    from skein.files f where f.run_id = r.id and f.session_id = r.session_id) as generated_files,
  -- Empty if a call had no price: the sum of the other calls would be too low.
  case when r.unpriced_calls > 0 or r.model = '' then '{}'::jsonb else jsonb_build_object(
    'input_cost', skein.dollars(r.input_micros, r.input_rest), 'output_cost', skein.dollars(r.output_micros, r.output_rest),
    'cache_write_cost', skein.dollars(r.cache_write_micros, r.cache_write_rest),
    'cache_read_cost', skein.dollars(r.cache_read_micros, r.cache_read_rest),
    'server_tool_cost', skein.dollars(
      r.cost_micros - r.input_micros - r.output_micros - r.cache_write_micros - r.cache_read_micros,
      r.cost_rest - r.input_rest - r.output_rest - r.cache_write_rest - r.cache_read_rest),
    'total_cost', skein.dollars(r.cost_micros, r.cost_rest),
    'total_input_tokens', r.input_tokens + r.cache_creation_input_tokens + r.cache_read_input_tokens,
    'total_output_tokens', r.output_tokens, 'total_cache_creation_tokens', r.cache_creation_input_tokens,
    'total_cache_read_tokens', r.cache_read_input_tokens, 'model_id', r.model,
    'long_context_applied', r.long_context_applied, 'currency', 'USD') end as cost,
  '{}'::jsonb as extras,
  r.number::integer as sequence_number,
  coalesce(r.completed_at, r.started_at) as created_at
from skein.runs r;

alter view agent.conversation_history alter cost set default '{}'::jsonb;
alter view agent.conversation_history alter extras set default '{}'::jsonb;
alter view agent.conversation_history alter created_at set default now();

create or replace view agent.agent_runs as
${agentRunsSelect(actionSql).replaceAll("from events e", "from skein.events e")};

alter view agent.agent_runs alter timestamp set default now();
`;
