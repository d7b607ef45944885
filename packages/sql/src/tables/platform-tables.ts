/**
 * The tables of the platform's sessions, with the columns of the stores' views: schema `platform` for the platform API,
 * `agent` for the agent tables, `api` for the Claude API. Rows are read through the interface of all stores, because
 * DuckDB would have to download its readers of SQLite and PostgreSQL.
 */
export const PLATFORM_COLUMNS = {
  "platform.agents": {
    id: "VARCHAR",
    name: "VARCHAR",
    description: "VARCHAR",
    system_prompt: "VARCHAR",
    default_model_id: "VARCHAR",
    tags: "JSON",
    status: "VARCHAR",
    created_at: "TIMESTAMP",
    updated_at: "TIMESTAMP",
  },
  "platform.llm_models": {
    id: "VARCHAR",
    name: "VARCHAR",
    provider: "VARCHAR",
    is_default: "BOOLEAN",
    created_at: "TIMESTAMP",
  },
  "skein.audit": {
    id: "VARCHAR",
    created_at: "TIMESTAMP",
    action: "VARCHAR",
    target: "VARCHAR",
    outcome: "VARCHAR",
    actor: "VARCHAR",
    key_id: "VARCHAR",
    address: "VARCHAR",
    request_id: "VARCHAR",
    detail: "VARCHAR",
  },
  "platform.sessions": {
    id: "VARCHAR",
    agent_id: "VARCHAR",
    title: "VARCHAR",
    tags: "JSON",
    model_id: "VARCHAR",
    status: "VARCHAR",
    created_at: "TIMESTAMP",
    started_at: "TIMESTAMP",
    finished_at: "TIMESTAMP",
  },
  "platform.messages": {
    id: "VARCHAR",
    session_id: "VARCHAR",
    sequence: "BIGINT",
    role: "VARCHAR",
    content: "JSON",
    tool_call_id: "VARCHAR",
    created_at: "TIMESTAMP",
  },
  "platform.events": {
    id: "VARCHAR",
    session_id: "VARCHAR",
    sequence: "BIGINT",
    event_type: "VARCHAR",
    data: "JSON",
    created_at: "TIMESTAMP",
  },
  "agent.conversation_history": {
    conversation_id: "VARCHAR",
    agent_uuid: "VARCHAR",
    run_id: "VARCHAR",
    started_at: "TIMESTAMP",
    completed_at: "TIMESTAMP",
    user_message: "VARCHAR",
    final_response: "VARCHAR",
    messages: "JSON",
    stop_reason: "VARCHAR",
    total_steps: "INTEGER",
    usage: "JSON",
    generated_files: "JSON",
    cost: "JSON",
    extras: "JSON",
    sequence_number: "INTEGER",
    created_at: "TIMESTAMP",
  },
  "agent.agent_config": {
    agent_uuid: "VARCHAR",
    system_prompt: "VARCHAR",
    model: "VARCHAR",
    max_steps: "INTEGER",
    thinking_tokens: "INTEGER",
    max_tokens: "INTEGER",
    container_id: "VARCHAR",
    messages: "JSON",
    tool_schemas: "JSON",
    tool_names: "VARCHAR[]",
    server_tools: "JSON",
    beta_headers: "VARCHAR[]",
    api_kwargs: "JSON",
    formatter: "VARCHAR",
    stream_meta_history_and_tool_results: "BOOLEAN",
    compactor_type: "VARCHAR",
    memory_store_type: "VARCHAR",
    file_registry: "JSON",
    extras: "JSON",
    max_retries: "INTEGER",
    base_delay: "DOUBLE",
    last_known_input_tokens: "INTEGER",
    last_known_output_tokens: "INTEGER",
    pending_frontend_tools: "JSON",
    pending_backend_results: "JSON",
    awaiting_frontend_tools: "BOOLEAN",
    current_step: "INTEGER",
    conversation_history: "JSON",
    title: "VARCHAR",
    created_at: "TIMESTAMP",
    updated_at: "TIMESTAMP",
    last_run_at: "TIMESTAMP",
    total_runs: "INTEGER",
  },
  "skein.actions": {
    log_id: "BIGINT",
    agent_uuid: "VARCHAR",
    run_id: "VARCHAR",
    timestamp: "TIMESTAMP",
    step_number: "INTEGER",
    action_type: "VARCHAR",
    action_data: "JSON",
    messages_count: "INTEGER",
    estimated_tokens: "INTEGER",
    duration_ms: "BIGINT",
    // The messages that the model saw: first a summary of earlier messages, then a range of the transcript without some
    // left-out messages.
    shown_first: "JSON[]",
    shown_from: "INTEGER",
    shown_until: "INTEGER",
    left_out: "VARCHAR[]",
  },
  "skein.transcripts": {
    session_id: "VARCHAR",
    ids: "VARCHAR[]",
    messages: "JSON[]",
  },
  "api.sessions": {
    id: "VARCHAR",
    created_at: "TIMESTAMP",
    updated_at: "TIMESTAMP",
    status: "VARCHAR",
    model: "VARCHAR",
    working_directory: "VARCHAR",
    total_turns: "INTEGER",
    total_cost_usd: "DECIMAL(38, 12)",
    parent_session_id: "VARCHAR",
    metadata: "JSON",
  },
  "api.session_messages": {
    id: "VARCHAR",
    session_id: "VARCHAR",
    message_type: "VARCHAR",
    content: "JSON",
    created_at: "TIMESTAMP",
    sequence: "INTEGER",
  },
  "api.checkpoints": {
    id: "VARCHAR",
    session_id: "VARCHAR",
    user_message_uuid: "VARCHAR",
    created_at: "TIMESTAMP",
    files_modified: "JSON",
  },
  "skein.runs": {
    id: "VARCHAR",
    session_id: "VARCHAR",
    model: "VARCHAR",
    working_directory: "VARCHAR",
    started_at: "TIMESTAMP",
    usage: "JSON",
    cost_micros: "BIGINT",
    cost_usd: "DECIMAL(38, 12)",
    unpriced_calls: "INTEGER",
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

export type PlatformTable = keyof typeof PLATFORM_COLUMNS;

/** A row of one of these tables, by column. Fields without a column are ignored. */
export type PlatformRow = Readonly<Record<string, unknown>>;

const tables = Object.entries(PLATFORM_COLUMNS).map(
  ([table, columns]) =>
    `CREATE TABLE ${table} (${Object.entries(columns)
      .map(([name, type]) => `${name} ${type}`)
      .join(", ")});`,
);

const range = (list: string): string => `t.${list}[a.shown_from + 1 : a.shown_until]`;

const tokens = (name: string): string => `CAST(json_extract_string(usage, '$.${name}') AS BIGINT)`;

export const PLATFORM_TABLES = `
CREATE SCHEMA platform; CREATE SCHEMA agent; CREATE SCHEMA api;
${tables.join("\n")}

-- messages_snapshot repeats the whole context for each step, so it is composed only when a statement reads it.
CREATE VIEW agent.agent_runs AS
SELECT a.log_id, a.agent_uuid, a.run_id, a.timestamp, a.step_number, a.action_type, a.action_data,
  CASE WHEN a.shown_until IS NOT NULL THEN to_json(list_concat(a.shown_first, CASE WHEN len(a.left_out) = 0 THEN ${range("messages")}
    ELSE list_transform(list_filter(list_zip(${range("ids")}, ${range("messages")}), lambda m: NOT list_contains(a.left_out, m[1])), lambda m: m[2])
    END)) END AS messages_snapshot,
  a.messages_count, a.estimated_tokens, a.duration_ms
FROM skein.actions a LEFT JOIN skein.transcripts t ON t.session_id = a.agent_uuid;

CREATE VIEW main.all_sessions AS
SELECT 'claude-code' AS source, session_id, title, project_path, started_at, last_activity_at, message_count FROM claude.sessions
UNION ALL
SELECT 'skein', s.id, p.title, s.working_directory, s.created_at, s.updated_at,
  (SELECT count(*) FROM platform.messages m WHERE m.session_id = s.id AND m.role IN ('user', 'assistant'))::INTEGER
FROM api.sessions s JOIN platform.sessions p USING (id);

CREATE VIEW main.all_messages AS
SELECT 'claude-code' AS source, session_id, role, text, timestamp FROM claude.messages
UNION ALL
-- The text of a message is in its field "text", or in its blocks.
SELECT 'skein', session_id, role, coalesce(json_extract_string(content, '$.text'), skein.text_of(json_extract(content, '$.content'))), created_at
FROM platform.messages;

-- One row for each model call of Claude Code and for each run of the platform. Their tokens and costs can be summed: a run
-- whose calls are also in Claude Code's files, because it was adopted from them or exported to them, is left out.
CREATE VIEW main.all_usage AS
SELECT 'claude-code' AS source, session_id, project_path, timestamp, model, input_tokens, output_tokens,
  cache_creation_input_tokens, cache_read_input_tokens, cost_micros, cost_usd FROM claude.responses
UNION ALL
SELECT 'skein', session_id, working_directory, started_at, model, ${tokens("input_tokens")}, ${tokens("output_tokens")},
  ${tokens("cache_creation_input_tokens")}, ${tokens("cache_read_input_tokens")},
  -- If a call has no price, the cost is NULL: the sum of the other calls would be too low.
  if(unpriced_calls = 0, cost_micros, NULL), if(unpriced_calls = 0, cost_usd, NULL)
FROM (SELECT *, lead(started_at, 1, 'infinity') OVER (PARTITION BY session_id ORDER BY started_at, id) AS next_at FROM skein.runs) r
WHERE NOT EXISTS (FROM claude.responses c
  WHERE c.session_id = r.session_id AND c.timestamp >= r.started_at AND c.timestamp < r.next_at);
`;
