import {
  type ConformanceList,
  type Entry,
  type JsonType,
  columns,
  departure,
  index,
  keys,
  section,
  there,
} from "./line.ts";

const CONFIG = "agent.agent_config";
const HISTORY = "agent.conversation_history";
const RUNS = "agent.agent_runs";

const NO_EXTRAS =
  "Always {}: a run has no fields of its own. The caller's data is in agent_config.extras and in the session's metadata.";

/**
 * Changes each entry whose text begins with `name` to a departure with this note. Returns all other entries unchanged.
 */
const constant = (entries: readonly Entry[], name: string, note: string): readonly Entry[] =>
  entries.map((entry) =>
    entry.what.replaceAll('"', "").startsWith(name) ? departure(entry.what, note, entry.check) : entry,
  );

/** A component type. The specification spells its name in two ways. */
const spelling = (said: string): Entry =>
  there(said, {
    check: "test",
    file: "packages/protocol/test/agent.test.ts",
    name: "component types are accepted in two spellings, and stored as registry names",
  });

const configDefault = (field: string, value: unknown): Entry =>
  there(`a new agent has ${field} = ${JSON.stringify(value)}`, {
    check: "schema",
    schema: "AgentConfig",
    field,
    default: value,
  });

const inJson = (query: string, types: Readonly<Record<string, JsonType>>): readonly Entry[] =>
  Object.entries(types).map(([key, type]) => there(key, { check: "json", query, key, type }));

const action = (type: string, ...data: readonly string[]): Entry =>
  there(data.length > 0 ? `${type}: ${data.join(", ")}` : type, { check: "action", action: type, keys: data });

export const agentTables: ConformanceList = {
  part: "Agent tables",
  specification: "002",
  title: "Three tables of an agent framework: agent_config, conversation_history, agent_runs",
  lines: [
    ...section(
      "Table 1: agent_config (SQL)",
      columns(
        CONFIG,
        `
    agent_uuid UUID PRIMARY KEY,
    system_prompt TEXT NOT NULL,
    model VARCHAR(100) NOT NULL,
    max_steps INTEGER DEFAULT 50,
    thinking_tokens INTEGER DEFAULT 0,
    max_tokens INTEGER DEFAULT 2048,
    container_id VARCHAR(255),
    messages JSONB,
    tool_schemas JSONB,
    tool_names TEXT[],
    server_tools JSONB,
    beta_headers TEXT[],
    api_kwargs JSONB,
    formatter VARCHAR(50),
    stream_meta_history_and_tool_results BOOLEAN DEFAULT FALSE,
    compactor_type VARCHAR(50),
    memory_store_type VARCHAR(50),
    file_registry JSONB,
    extras JSONB DEFAULT '{}'::jsonb,
    max_retries INTEGER DEFAULT 5,
    base_delay FLOAT DEFAULT 1.0,
    last_known_input_tokens INTEGER DEFAULT 0,
    last_known_output_tokens INTEGER DEFAULT 0,
    pending_frontend_tools JSONB DEFAULT '[]',
    pending_backend_results JSONB DEFAULT '[]',
    awaiting_frontend_tools BOOLEAN DEFAULT FALSE,
    current_step INTEGER DEFAULT 0,
    conversation_history JSONB DEFAULT '[]',
    title VARCHAR(255),
    created_at TIMESTAMP DEFAULT NOW(),
    updated_at TIMESTAMP DEFAULT NOW(),
    last_run_at TIMESTAMP,
    total_runs INTEGER DEFAULT 0`,
      ),
    ),
    ...section("Table 1: rules", [
      departure(
        "messages is a column that grows",
        "Computed when it is read. If every step stored all messages again, storage would grow with the square of their number.",
        {
          check: "json",
          query: `select messages->0 from ${CONFIG} where jsonb_array_length(messages) > 0`,
          key: "role",
          type: "string",
        },
      ),
      departure(
        "agent_uuid is the agent",
        "agent_uuid is a session. An agent is configuration with many sessions, and a session keeps the configuration with which it began.",
        {
          check: "query",
          query: `select c.agent_uuid from ${CONFIG} c join platform.sessions s on s.id = c.agent_uuid`,
        },
      ),
      configDefault("max_steps", 50),
      configDefault("thinking_tokens", 0),
      configDefault("max_tokens", 2048),
      configDefault("stream_meta_history_and_tool_results", false),
      configDefault("extras", {}),
      configDefault("max_retries", 5),
      configDefault("base_delay", 1),
      spelling("formatter: xml, json"),
      spelling("compactor_type: tool_result_removal, none; ToolResultRemovalCompactor"),
      spelling("memory_store_type: placeholder, none; PlaceholderMemoryStore"),
      there("tool_schemas: [{name, description, input_schema}]", {
        check: "json",
        query: `select tool_schemas->0 from ${CONFIG} where jsonb_array_length(tool_schemas) > 0`,
        key: "input_schema",
        type: "object",
      }),
      there("pending_frontend_tools: [{tool_use_id, name, input}] while the session waits for the browser", {
        check: "json",
        query: `select pending_frontend_tools->0 from ${CONFIG} where awaiting_frontend_tools`,
        key: "tool_use_id",
        type: "string",
      }),
      there("pending_backend_results: tool_result blocks that wait for the rest", {
        check: "json",
        query: `select pending_backend_results->0 from ${CONFIG} where awaiting_frontend_tools`,
        key: "tool_use_id",
        type: "string",
      }),
      there("conversation_history is kept only while the session waits", {
        check: "query",
        query: `select 1 where not exists (select from ${CONFIG} where awaiting_frontend_tools = (conversation_history = '[]'))`,
      }),
      ...inJson(`select v from ${CONFIG}, jsonb_each(file_registry) f(k, v)`, {
        filename: "string",
        storage_path: "string",
        size: "number",
        mime_type: "string",
        created_in_run: "string",
        last_updated_run: "string",
        last_updated_at: "string",
      }).map((entry) => ({ ...entry, what: `file_registry: ${entry.what}` })),
      index("idx_agent_config_updated", `select agent_uuid from ${CONFIG} order by updated_at desc limit 5`),
      index(
        "idx_agent_config_last_run",
        `select agent_uuid from ${CONFIG} where last_run_at is not null order by last_run_at desc limit 5`,
      ),
    ]),
    ...section("Table 1: agent_config (document)", [
      there("data/agent_config/{agent_uuid}.json", { check: "file", path: "^agent_config/{agent}\\.json$" }),
      ...keys("agent_config", {
        agent_uuid: "string",
        system_prompt: "string",
        model: "string",
        max_steps: "number",
        thinking_tokens: "number",
        max_tokens: "number",
        container_id: "any",
        messages: "array",
        tool_schemas: "array",
        tool_names: "array",
        server_tools: "array",
        beta_headers: "array",
        api_kwargs: "object",
        formatter: "string",
        stream_meta_history_and_tool_results: "boolean",
        compactor_type: "string",
        memory_store_type: "string",
        file_registry: "object",
        max_retries: "number",
        base_delay: "number",
        last_known_input_tokens: "number",
        last_known_output_tokens: "number",
        pending_frontend_tools: "array",
        pending_backend_results: "array",
        awaiting_frontend_tools: "boolean",
        current_step: "number",
        conversation_history: "array",
        title: "any",
        extras: "object",
        created_at: "string",
        updated_at: "string",
        last_run_at: "any",
        total_runs: "number",
      }),
    ]),
    ...section(
      "Table 2: conversation_history (SQL)",
      constant(
        columns(
          HISTORY,
          `
    conversation_id UUID PRIMARY KEY,
    agent_uuid UUID NOT NULL,
    run_id UUID NOT NULL,
    started_at TIMESTAMP NOT NULL,
    completed_at TIMESTAMP,
    user_message TEXT NOT NULL,
    final_response TEXT,
    messages JSONB NOT NULL,
    stop_reason VARCHAR(50),
    total_steps INTEGER,
    usage JSONB,
    generated_files JSONB,
    cost JSONB DEFAULT '{}'::jsonb,
    extras JSONB DEFAULT '{}'::jsonb,
    sequence_number INTEGER,
    created_at TIMESTAMP DEFAULT NOW()`,
        ),
        "extras",
        NO_EXTRAS,
      ),
    ),
    ...section("Table 2: rules", [
      there("agent_uuid REFERENCES agent_config ON DELETE CASCADE", {
        check: "test",
        file: "packages/core/src/testing/store-contract.ts",
        name: "a store deletes the events, the row and the messages of a session, and keeps other sessions",
      }),
      there("run_id links to agent_runs", {
        check: "query",
        query: `select h.run_id from ${HISTORY} h join ${RUNS} r using (agent_uuid, run_id) limit 1`,
      }),
      departure(
        "user_message, final_response: TEXT",
        "A text column shows NUL and half surrogate pairs as U+FFFD. The log keeps the exact text.",
        {
          check: "test",
          file: "packages/core/test/log/projection.test.ts",
          name: "text for a column has no NUL and no half of a surrogate pair",
        },
      ),
      departure(
        "JSONB keeps what was said",
        "Stored as json, because jsonb rejects NUL and lone surrogates and reorders keys. JSONB columns are made from it for reading.",
      ),
      ...inJson(`select usage from ${HISTORY}`, {
        input_tokens: "number",
        output_tokens: "number",
        cache_creation_input_tokens: "number",
        cache_read_input_tokens: "number",
      }).map((entry) => ({ ...entry, what: `usage: ${entry.what}` })),
      ...inJson(`select cost from ${HISTORY} where cost <> '{}'`, {
        input_cost: "number",
        output_cost: "number",
        cache_write_cost: "number",
        cache_read_cost: "number",
        total_cost: "number",
        total_input_tokens: "number",
        total_output_tokens: "number",
        total_cache_creation_tokens: "number",
        total_cache_read_tokens: "number",
        model_id: "string",
        long_context_applied: "boolean",
        currency: "string",
      }).map((entry) => ({ ...entry, what: `cost: ${entry.what}` })),
      there("the sample adds up: 0.0057 + 0.0195 + 0.00075 + 0.00012 = 0.02607", {
        check: "test",
        file: "packages/protocol/test/prices.test.ts",
        name: "the cost of the example in the agent tables is exact to the micro-dollar",
      }),
      departure(
        "total_input_tokens beside usage.input_tokens",
        "usage.input_tokens counts tokens outside of the cache. cost.total_input_tokens adds tokens written to and read from the cache, as in the sample.",
        {
          check: "query",
          query: `select 1 from ${HISTORY} where (cost->>'total_input_tokens')::int = (usage->>'input_tokens')::int
            + (usage->>'cache_creation_input_tokens')::int + (usage->>'cache_read_input_tokens')::int`,
        },
      ),
      ...inJson(`select generated_files->0 from ${HISTORY} where jsonb_array_length(generated_files) > 0`, {
        file_id: "string",
        filename: "string",
        storage_path: "string",
        size: "number",
        mime_type: "string",
        step: "number",
        timestamp: "string",
      }).map((entry) => ({ ...entry, what: `generated_files: ${entry.what}` })),
      there("stop_reason: end_turn, max_steps, …", {
        check: "query",
        query: `select 1 from ${HISTORY} where stop_reason = 'end_turn'`,
      }),
      departure(
        "stop_reason: tool_use",
        "A run that stopped for a tool continues or waits. Its row gets a stop reason when the run ends.",
      ),
      departure(
        "set_conversation_sequence(), trigger_conversation_sequence",
        "A counter of the session, because MAX()+1 gives two writers the same number.",
        { check: "refused", write: "update skein.runs set number = 1", code: "23505" },
      ),
      index(
        "idx_conv_agent_uuid",
        `select conversation_id from ${HISTORY} where agent_uuid = {agent} order by sequence_number desc limit 5`,
      ),
      index(
        "idx_conv_started_at",
        `select conversation_id from ${HISTORY} where agent_uuid = {agent} order by started_at desc limit 5`,
      ),
      index("idx_conv_run_id", `select conversation_id from ${HISTORY} where run_id = {run}`),
    ]),
    ...section("Table 2: conversation_history (document)", [
      there("data/conversation_history/{agent_uuid}/{sequence_number}.json, padded: 001.json", {
        check: "file",
        path: "^conversation_history/{agent}/001\\.json$",
      }),
      departure(
        "OR: data/conversation_history/{agent_uuid}/{run_id}.json",
        "The specification leaves the choice. Files are named by number, so that a folder lists them in order.",
      ),
      there("index.json", { check: "file", path: "^conversation_history/{agent}/index\\.json$" }),
      ...keys("index.json", { last_sequence: "number", total_conversations: "number" }),
      ...constant(
        keys("conversation_history", {
          conversation_id: "string",
          agent_uuid: "string",
          run_id: "string",
          started_at: "string",
          completed_at: "string",
          user_message: "string",
          final_response: "any",
          messages: "array",
          stop_reason: "string",
          total_steps: "number",
          usage: "object",
          generated_files: "array",
          cost: "object",
          extras: "object",
          sequence_number: "number",
          created_at: "string",
        }),
        "extras",
        NO_EXTRAS,
      ),
      departure(
        "conversation_id and run_id: conv-001, run-001",
        "UUID, as in the SQL schema. A conversation is a run and has its id.",
        { check: "version 7", view: HISTORY, column: "run_id" },
      ),
    ]),
    ...section(
      "Table 3: agent_runs (SQL)",
      columns(
        RUNS,
        `
    log_id BIGSERIAL PRIMARY KEY,
    agent_uuid UUID NOT NULL,
    run_id UUID NOT NULL,
    timestamp TIMESTAMP NOT NULL DEFAULT NOW(),
    step_number INTEGER,
    action_type VARCHAR(100) NOT NULL,
    action_data JSONB NOT NULL,
    messages_snapshot JSONB,
    messages_count INTEGER,
    estimated_tokens INTEGER,
    duration_ms INTEGER`,
      ),
    ),
    ...section("Table 3: rules", [
      there("log_id is unique", {
        check: "query",
        query: `select 1 where (select count(*) = count(distinct log_id) from ${RUNS})`,
      }),
      there("log_id grows in the order in which the rows were written, also those of one event", {
        check: "test",
        file: "packages/adapters/test/postgres-views.test.ts",
        name: "log_id grows in the order of the actions, even within an event",
      }),
      there("step_number: 0 = pre-loop, 1+ = loop iterations", {
        check: "query",
        query: `select 1 from ${RUNS} where action_type = 'run_started' and step_number = 0`,
      }),
      departure(
        "messages_snapshot is stored",
        "Computed when it is read, for api_call_started. The file of a run leaves it out.",
        {
          check: "json",
          query: `select messages_snapshot->0 from ${RUNS} where jsonb_array_length(messages_snapshot) > 0`,
          key: "role",
          type: "string",
        },
      ),
      index(
        "idx_runs_agent_run",
        `select log_id from ${RUNS} where agent_uuid = {agent} and run_id = {run} order by timestamp`,
      ),
      index("idx_runs_action_type", `select log_id from ${RUNS} where action_type = 'run_started'`),
      index("idx_runs_timestamp", `select log_id from ${RUNS} order by timestamp desc limit 5`),
    ]),
    ...section("Table 3: agent_runs (document)", [
      there("data/agent_runs/{agent_uuid}/{run_id}.jsonl", {
        check: "file",
        path: "^agent_runs/{agent}/{run}\\.jsonl$",
      }),
      ...Object.entries({
        log_id: "number",
        agent_uuid: "string",
        run_id: "string",
        timestamp: "string",
        step_number: "number",
        action_type: "string",
        action_data: "object",
        messages_count: "number",
        estimated_tokens: "number",
        duration_ms: "number",
      } as const).map(([key, type]) => there(`"${key}"`, { check: "action line", key, type })),
      departure(
        "log_id counts across runs",
        "Unique in a database. In a file, log_id counts the lines of the run from 1. In `skein sql`, it counts the actions of the session.",
      ),
    ]),
    ...section("Table 3: action_data of the example run", [
      action("run_started", "user_message", "formatter"),
      departure("run_started: queue_present", "Always true, because every run can be followed live.", {
        check: "action",
        action: "run_started",
        keys: ["queue_present"],
      }),
      action("memory_retrieval", "memories_found", "memories_injected", "memory_store_type"),
      action("compaction", "compaction_applied", "reason", "current_tokens", "threshold"),
      action("api_call_started", "model", "max_tokens", "thinking_tokens", "tools_count", "messages_sent"),
      departure(
        "api_call_started: messages_sent is stored",
        "Computed when it is read in SQL. The file of a run leaves it out, because it would repeat the history with every step.",
      ),
      action("api_response_received", "stop_reason", "usage", "content"),
      action("tool_execution", "tool_name", "tool_use_id", "input", "result", "execution_time_ms", "success"),
      action(
        "context_transformation",
        "transformation_type",
        "messages_before_count",
        "messages_after_count",
        "tokens_before",
        "tokens_after",
      ),
      action(
        "run_completed",
        "stop_reason",
        "total_steps",
        "final_response",
        "total_input_tokens",
        "total_output_tokens",
        "files_generated",
      ),
    ]),
    ...section("Action types taxonomy", [
      action("run_started"),
      action("run_completed"),
      action("run_failed"),
      action("max_steps_reached"),
      action("memory_retrieval"),
      action("memory_update"),
      action("memory_before_compact"),
      action("memory_after_compact"),
      departure(
        "compaction is logged when it was applied",
        "Every check whether to compact is logged with its reason, also if nothing was compacted.",
        {
          check: "action",
          action: "compaction",
          keys: ["compaction_applied"],
        },
      ),
      action("context_transformation"),
      action("api_call_started"),
      action("api_response_received"),
      action("api_retry"),
      action("api_error"),
      action("tool_execution"),
      action("tool_error"),
      action("final_answer_validation"),
      action("final_answer_validation_failed"),
      action("file_generated"),
      action("file_downloaded"),
      action("file_stored"),
      action("file_error"),
      action("final_summary_generation"),
      departure("streaming_chunk", "A draft, which is streamed and not stored.", {
        check: "draft",
        type: "step.generating",
      }),
      action("error"),
      departure(
        "awaiting_frontend_tools, frontend_tools_completed",
        "Added, because a pause without a line would be a gap in the log.",
        { check: "action", action: "awaiting_frontend_tools", keys: ["pending_frontend_tools"] },
      ),
    ]),
    ...section("Query patterns", [
      there("1: resume an agent", { check: "query", query: `select * from ${CONFIG} where agent_uuid = {agent}` }),
      there("2: a page of conversation history", {
        check: "query",
        query: `select conversation_id, user_message, final_response, started_at, generated_files, total_steps
          from ${HISTORY} where agent_uuid = {agent} order by sequence_number desc limit 20 offset 0`,
      }),
      departure("3: debug one run, order by timestamp", "Rows of the same millisecond need log_id too.", {
        check: "query",
        query: `select timestamp, step_number, action_type, action_data, duration_ms
          from ${RUNS} where run_id = {run} order by timestamp asc, log_id asc`,
      }),
      departure(
        "4: average tokens per run",
        "The table has no columns input_tokens and output_tokens; they are in usage.",
        {
          check: "query",
          query: `select agent_uuid, avg((usage->>'input_tokens')::int + (usage->>'output_tokens')::int) as avg_tokens
            from ${HISTORY} where started_at > now() - interval '7 days' group by agent_uuid`,
        },
      ),
      there("5: find errors", {
        check: "query",
        query: `select agent_uuid, run_id, timestamp, action_data from ${RUNS} where action_type = 'error' order by timestamp desc limit 50`,
      }),
      there("1, 2 and 3 on files", { check: "file", path: "^agent_runs/{agent}/{run}\\.jsonl$" }),
    ]),
    ...section("Implementation notes", [
      there("transactions for atomic updates", {
        check: "test",
        file: "packages/core/src/testing/store-contract.ts",
        name: "a store rejects an append as a whole if the log does not end where the writer expects",
      }),
      there("JSONL for agent_runs, JSON for the other two", { check: "file", path: "\\.jsonl$" }),
      departure(
        "partition agent_runs by timestamp, compress old runs",
        'Not done. The specification only says "consider".',
      ),
      departure("storage size estimates", "They are about another implementation. A log keeps each message once."),
    ]),
  ],
};
