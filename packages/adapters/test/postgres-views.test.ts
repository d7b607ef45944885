import { createPostgresStore } from "@skein/adapters/stores/postgres";
import { type Store, createAgents, createModels, createSessions } from "@skein/core";
import { type Script, createScript, playSearches, scriptedAgent } from "@skein/core/testing";
import { ACTION_TYPES, type Fact, actionLogs, createIds } from "@skein/protocol";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { type Database, createDatabase } from "../../../scripts/postgres.ts";

const server = inject("postgres");
const ids = createIds();

let database: Database;
let store: Store;
let client: pg.Client;

beforeAll(async () => {
  database = await createDatabase(server.url, { template: server.template });
  store = await createPostgresStore({ url: database.url, poolSize: 4 });
  client = new pg.Client(database.url);
  await client.connect();
});

afterAll(async () => {
  await client.end();
  await store.close();
  await database.drop();
});

type Row = Record<string, unknown>;

async function rows(text: string, values: unknown[] = []): Promise<Row[]> {
  return (await client.query<Row>(text, values)).rows;
}

async function only(text: string, values: unknown[] = []): Promise<Row> {
  const found = await rows(text, values);
  expect(found).toHaveLength(1);
  return found[0] ?? {};
}

async function scripted(): Promise<Script> {
  const script = createScript({ store, ids });
  await script.create();
  return script;
}

test("the cost of a run has a part for server tools", async () => {
  const script = await scripted();
  await playSearches(script);
  const { cost } = await only("select cost from agent.conversation_history where agent_uuid = $1", [script.sessionId]);
  expect(cost).toMatchObject({ server_tool_cost: 0.03, total_cost: 0.0345 });
});

/** Appends a run whose facts give all actions of the agent tables that a `toolTurn` does not have. */
async function everyAction(script: Script): Promise<string> {
  const { messageId, runId } = await script.prompt("Say \0 everything");
  const lease = await script.claim();
  const step = { run_id: runId, step: 1 };
  const context = { messages_count: 3, estimated_tokens: 450, duration_ms: 5 };
  const error = { code: "overloaded_error", message: "Overloaded \0", status: 529 };
  const memory = { memory_store_type: "placeholder", duration_ms: 1, details: {} };
  const file = { ...step, file_id: "file_1", filename: "chart.png" };
  const compaction = { reason: "over", compactor_type: "summarize", current_tokens: 9, threshold: 5, tokens_after: 2 };
  const call = { ...step, tool_use_id: "t1", name: "search", input: { q: "\ud800" } };
  const reply = { model: "claude-sonnet-4-5", stop_reason: "end_turn", cost: null, container_id: null, duration_ms: 7 };
  const usage = { input_tokens: 10, output_tokens: 5 };
  const facts: readonly Fact[] = [
    {
      event_type: "session.started",
      data: { run_id: runId, message_id: messageId, user_message: "Say \0 everything", formatter: "xml" },
    },
    {
      event_type: "message.created",
      data: {
        ...step,
        step: 0,
        message_id: messageId,
        role: "user",
        rows: 1,
        transformation_type: "user_message_added",
        messages_before_count: 0,
        messages_after_count: 1,
        tokens_before: 0,
        tokens_after: 10,
      },
    },
    {
      event_type: "memory.retrieved",
      data: {
        ...step,
        ...context,
        memories_found: 3,
        memories_injected: 2,
        memory_store_type: "none",
        injected: ["m"],
      },
    },
    { event_type: "memory.saved", data: { ...step, ...memory } },
    {
      event_type: "compaction.checked",
      data: { ...step, ...context, ...compaction, applied: true, messages: [{ role: "user", content: "In short \0" }] },
    },
    { event_type: "memory.restored", data: { ...step, ...memory } },
    {
      event_type: "step.started",
      data: {
        ...step,
        attempt: 1,
        purpose: "step",
        model: "claude-sonnet-4-5",
        max_tokens: 2048,
        thinking_tokens: 0,
        tools_count: 5,
        messages_count: 1,
        estimated_tokens: 2,
      },
    },
    { event_type: "step.retried", data: { ...step, attempt: 1, error, delay_ms: 1000 } },
    {
      event_type: "step.generated",
      data: { ...step, ...reply, purpose: "summary", message_id: ids(), results_message_id: null, content: [], usage },
    },
    {
      event_type: "tool.completed",
      data: {
        ...call,
        outcome: "failed",
        content: "no \0",
        is_error: true,
        message_id: ids(),
        part: 0,
        duration_ms: 3,
      },
    },
    {
      event_type: "await.opened",
      data: {
        ...step,
        awaits: [
          { tool_use_id: "t2", kind: "frontend_tool", name: "confirm", input: {}, expires_at: null, session_id: null },
        ],
      },
    },
    { event_type: "await.resolved", data: { ...step, tool_use_id: "t2", resolution: "answered", waited_ms: 12 } },
    { event_type: "answer.validated", data: { ...step, passed: false, reason: "too short" } },
    { event_type: "transcript.repaired", data: { ...step, repairs: [{ tool_use_id: "x" }] } },
    { event_type: "file.generated", data: file },
    { event_type: "file.downloaded", data: { ...file, size: 5, duration_ms: 1 } },
    {
      event_type: "file.stored",
      data: { ...file, storage_path: "/f/chart.png", size: 5, mime_type: "image/png", duration_ms: 1 },
    },
    { event_type: "file.failed", data: { ...step, file_id: "file_2", filename: null, error } },
    { event_type: "memory.updated", data: { ...step, memories_written: 1, memory_store_type: "none", duration_ms: 2 } },
    { event_type: "steps.exhausted", data: { ...step, max_steps: 50 } },
    { event_type: "step.error", data: { ...step, error, duration_ms: 4 } },
    { event_type: "step.abandoned", data: { ...step, model: "claude-sonnet-4-5", usage, cost: null } },
    {
      event_type: "session.failed",
      data: {
        ...step,
        outcome: "failed",
        stop_reason: "error",
        error,
        usage: { ...usage, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
        cost_micros: 0,
        unpriced_calls: 2,
        files_generated: 1,
        duration_ms: 9,
      },
    },
  ];
  await script.append(facts, { lease });
  await store.release(lease, { seen: 1_000_000, dueAt: null });
  return runId;
}

describe("schema platform (platform API)", () => {
  test("the platform views show agents and models", async () => {
    const { records } = store;
    const model = await createModels({ records, ids }).add({ name: "claude-sonnet-4-5", isDefault: true });
    const agent = await createAgents({ records, ids }).create({
      name: "Helper",
      model: "claude-sonnet-4-5",
      system_prompt: "Help \0.",
      tags: ["a", "b"],
      default_model_id: model.id,
    });
    expect(await only("select * from platform.agents where id = $1", [agent.id])).toEqual({
      id: agent.id,
      name: "Helper",
      description: null,
      system_prompt: "Help \uFFFD.",
      default_model_id: model.id,
      tags: ["a", "b"],
      status: "active",
      created_at: new Date(agent.created_at),
      updated_at: new Date(agent.updated_at),
    });
    expect(await only("select * from platform.llm_models where id = $1", [model.id])).toMatchObject({
      name: "claude-sonnet-4-5",
      provider: "anthropic",
      is_default: true,
    });
  });

  test("the platform views show the same session, messages and events as the store", async () => {
    const script = await scripted();
    await script.toolTurn("How much is 2+2?");
    const { sessionId } = script;
    const session = await store.get(sessionId);
    expect(await only("select * from platform.sessions where id = $1", [sessionId])).toEqual({
      id: sessionId,
      agent_id: session?.agent_id,
      title: null,
      tags: [],
      model_id: null,
      status: "completed",
      created_at: new Date(session?.created_at ?? 0),
      started_at: new Date(session?.started_at ?? 0),
      finished_at: new Date(session?.finished_at ?? 0),
    });
    const dated = (items: readonly { created_at: string }[]) =>
      items.map((item) => ({ ...item, created_at: new Date(item.created_at) }));
    const messages = await rows("select * from platform.messages where session_id = $1 order by sequence", [sessionId]);
    expect(messages).toEqual(dated((await store.messages(sessionId)).items));
    const events = await rows("select * from platform.events where session_id = $1 order by sequence", [sessionId]);
    expect(events).toEqual(dated(await store.read(sessionId)));
  });

  test("the platform views show a large body completely", async () => {
    const script = await scripted();
    await script.prompt("x".repeat(300_000));
    const read =
      "select length(data->>'content') as length from platform.events where session_id = $1 and sequence = 2";
    expect(await only(read, [script.sessionId])).toEqual({ length: 300_000 });
    const raw = "select length(data::text) < 2000 as small from skein.events where session_id = $1 and sequence = 2";
    expect(await only(raw, [script.sessionId])).toEqual({ small: true });
  });
});

describe("schema agent (agent tables)", () => {
  test("query pattern 1 of the specification: one row has an agent's configuration and the current context", async () => {
    const script = await scripted();
    await script.toolTurn("How much is 2+2?");
    const config = await only("SELECT * FROM agent.agent_config WHERE agent_uuid = $1", [script.sessionId]);
    expect(config).toMatchObject({
      system_prompt: scriptedAgent.system_prompt,
      model: "claude-sonnet-4-5",
      max_steps: 50,
      max_tokens: 2048,
      tool_names: [],
      beta_headers: [],
      formatter: "json",
      compactor_type: "none",
      base_delay: 1,
      file_registry: {},
      pending_frontend_tools: [],
      pending_backend_results: [],
      awaiting_frontend_tools: false,
      current_step: 2,
      conversation_history: [],
      last_known_input_tokens: 1900,
      total_runs: 1,
    });
    const transcript = await createSessions({ store }).transcript(script.sessionId);
    expect(config["messages"]).toEqual(transcript.map(({ role, content }) => ({ role, content })));
  });

  test("after a compaction, the messages for the model begin with the result of the compaction", async () => {
    const script = await scripted();
    await script.toolTurn("first");
    await everyAction(script);
    const shown = async () =>
      (await only("select messages from agent.agent_config where agent_uuid = $1", [script.sessionId]))["messages"];
    expect(await shown()).toEqual([{ role: "user", content: "In short \uFFFD" }]);
    await script.toolTurn("second");
    expect(await shown()).toMatchObject([
      { role: "user", content: "In short \uFFFD" },
      { role: "user", content: "second" },
      { role: "assistant" },
      { role: "user", content: [{ type: "tool_result", content: "4" }] },
      { role: "assistant", content: [{ type: "text", text: "The answer is 4" }] },
    ]);
    const { file_registry } = await only("select file_registry from agent.agent_config where agent_uuid = $1", [
      script.sessionId,
    ]);
    expect(file_registry).toMatchObject({ file_1: { filename: "chart.png", mime_type: "image/png", size: 5 } });
  });

  test("a session that waits for a tool of the client shows its open calls and its completed results", async () => {
    const script = await scripted();
    const { messageId, runId } = await script.prompt("confirm, please");
    const lease = await script.claim();
    const step = { run_id: runId, step: 1 };
    const awaited = { kind: "frontend_tool" as const, name: "confirm", expires_at: null, session_id: null };
    const result = { outcome: "committed" as const, is_error: false, message_id: ids(), part: 1, duration_ms: 1 };
    await script.append(
      [
        {
          event_type: "session.started",
          data: { run_id: runId, message_id: messageId, user_message: "confirm, please", formatter: "json" },
        },
        {
          event_type: "message.created",
          data: {
            ...step,
            message_id: messageId,
            role: "user",
            rows: 1,
            transformation_type: "user_message_added",
            messages_before_count: 0,
            messages_after_count: 1,
            tokens_before: 0,
            tokens_after: 10,
          },
        },
        {
          event_type: "tool.completed",
          data: { ...step, ...result, tool_use_id: "t2", name: "search", input: {}, content: "found" },
        },
        {
          event_type: "await.opened",
          data: { ...step, awaits: [{ ...awaited, tool_use_id: "t1", input: { sure: 1 } }] },
        },
      ],
      { lease },
    );
    expect(
      await only(
        `select awaiting_frontend_tools, pending_frontend_tools, pending_backend_results, conversation_history
        from agent.agent_config where agent_uuid = $1`,
        [script.sessionId],
      ),
    ).toEqual({
      awaiting_frontend_tools: true,
      pending_frontend_tools: [{ tool_use_id: "t1", name: "confirm", input: { sure: 1 } }],
      pending_backend_results: [{ type: "tool_result", tool_use_id: "t2", content: "found" }],
      conversation_history: [{ role: "user", content: "confirm, please" }],
    });
  });

  test("query pattern 2 of the specification: conversations are read page by page, newest first", async () => {
    const script = await scripted();
    for (let i = 0; i < 3; i++) await script.toolTurn(`turn ${i}`);
    const page = await rows(
      `SELECT conversation_id, user_message, final_response, started_at,
              generated_files, total_steps
       FROM agent.conversation_history
       WHERE agent_uuid = $1
       ORDER BY sequence_number DESC
       LIMIT 20 OFFSET 0`,
      [script.sessionId],
    );
    expect(page.map(({ user_message }) => user_message)).toEqual(["turn 2", "turn 1", "turn 0"]);
    expect(page[0]).toMatchObject({ final_response: "The answer is 4", generated_files: [], total_steps: 2 });
  });

  test("a conversation has the messages, usage and cost of its run, in fields named as in the agent tables", async () => {
    const script = await scripted();
    await script.toolTurn("before");
    await script.toolTurn("How much is 2+2?");
    const row = await only("select * from agent.conversation_history where agent_uuid = $1 and sequence_number = 2", [
      script.sessionId,
    ]);
    expect(row["messages"]).toMatchObject([
      { role: "user", content: "How much is 2+2?" },
      { role: "assistant", content: [{ type: "text" }, { type: "tool_use", name: "search" }] },
      { role: "user", content: [{ type: "tool_result", content: "4" }] },
      { role: "assistant", content: [{ type: "text", text: "The answer is 4" }] },
    ]);
    expect(row["usage"]).toEqual({
      input_tokens: 3800,
      output_tokens: 2600,
      cache_creation_input_tokens: 400,
      cache_read_input_tokens: 800,
    });
    expect(row["cost"]).toEqual({
      input_cost: 0.0114,
      output_cost: 0.039,
      cache_write_cost: 0.0015,
      cache_read_cost: 0.00024,
      server_tool_cost: 0,
      total_cost: 0.05214,
      total_input_tokens: 5000,
      total_output_tokens: 2600,
      total_cache_creation_tokens: 400,
      total_cache_read_tokens: 800,
      model_id: "claude-sonnet-4-5",
      long_context_applied: false,
      currency: "USD",
    });
    const [run] = (await store.runs(script.sessionId)).items;
    expect(row).toMatchObject({ conversation_id: run?.id, run_id: run?.id, stop_reason: "end_turn", extras: {} });
  });

  test("query pattern 3 of the specification: the actions of a run are read in the order in which they happened", async () => {
    const script = await scripted();
    await script.toolTurn("How much is 2+2?");
    const [run] = (await store.runs(script.sessionId)).items;
    const actions = await rows(
      `SELECT timestamp, step_number, action_type, action_data, duration_ms
       FROM agent.agent_runs
       WHERE run_id = $1
       ORDER BY timestamp ASC`,
      [run?.id],
    );
    expect(actions.map(({ action_type, step_number }) => [action_type, step_number])).toEqual([
      ["run_started", 0],
      ["context_transformation", 0],
      ["api_call_started", 1],
      ["api_response_received", 1],
      ["context_transformation", 1],
      ["tool_execution", 1],
      ["context_transformation", 1],
      ["api_call_started", 2],
      ["api_response_received", 2],
      ["context_transformation", 2],
      ["run_completed", 2],
    ]);
    expect(actions[0]?.["action_data"]).toEqual({
      user_message: "How much is 2+2?",
      queue_present: true,
      formatter: "json",
    });
    expect(actions[5]).toMatchObject({
      action_data: { tool_name: "search", result: "4", success: true, execution_time_ms: 12 },
      duration_ms: 12,
    });
    expect(actions[7]?.["action_data"]).toMatchObject({
      model: "claude-sonnet-4-5",
      messages_sent: [{ role: "user" }, { role: "assistant" }, { role: "user" }],
    });
    expect(actions[10]?.["action_data"]).toMatchObject({ total_steps: 2, total_input_tokens: 3800 });
  });

  test("every action type is made from some fact, and each row has a different log_id", async () => {
    const script = await scripted();
    const runs = [await everyAction(script)];
    await script.toolTurn("and the rest");
    runs.push((await store.runs(script.sessionId)).items[0]?.id ?? "");
    const actions = await rows("select * from agent.agent_runs where agent_uuid = $1 order by log_id", [
      script.sessionId,
    ]);
    expect(new Set(actions.map(({ action_type }) => action_type))).toEqual(new Set(ACTION_TYPES));
    expect(new Set(actions.map(({ log_id }) => log_id)).size).toBe(actions.length);
    expect(new Set(actions.map(({ run_id }) => run_id))).toEqual(new Set(runs));
    const of = (type: string) => actions.find(({ action_type }) => action_type === type);
    expect(of("memory_retrieval")).toMatchObject({ messages_count: 3, estimated_tokens: 450, duration_ms: 5 });
    expect(of("context_transformation")).toMatchObject({ messages_count: 1, estimated_tokens: 10 });
    expect(of("api_call_started")?.["messages_snapshot"]).toEqual([{ role: "user", content: "In short \uFFFD" }]);
    expect(of("tool_error")?.["action_data"]).toMatchObject({ outcome: "failed", error: "no \uFFFD" });
    expect(of("compaction")?.["messages_snapshot"]).toBeNull();
  });

  test("log_id grows in the order of the actions, even within an event", async () => {
    const script = await scripted();
    await everyAction(script);
    await script.toolTurn("and the rest");
    const logged = (await store.read(script.sessionId)).flatMap(actionLogs).map(({ action_type }) => action_type);
    const found = await rows("select action_type from agent.agent_runs where agent_uuid = $1 order by log_id", [
      script.sessionId,
    ]);
    expect(found.map(({ action_type }) => action_type)).toEqual(logged);
    expect(logged.slice(logged.indexOf("file_error")).slice(0, 2)).toEqual(["file_error", "error"]);
  });

  test("the actions of an adopted session have the times at which they happened, in the order of the log", async () => {
    const then = "2026-05-04T10:00:00.000Z";
    const script = createScript({ store, ids });
    await script.create();
    const old = createScript({ store, ids, sessionId: script.sessionId, happenedAt: then });
    const facts = Array.from({ length: 5 }, (_, n): Fact => {
      const reason = { code: "overloaded_error", message: `Overloaded ${n}`, status: 529 };
      return { event_type: "step.error", data: { run_id: ids(), step: n + 1, error: reason, duration_ms: 1 } };
    });
    await old.append(facts, { lease: await old.claim() });
    const actions = await rows(
      "select timestamp, step_number from agent.agent_runs where agent_uuid = $1 and action_type = 'error' order by timestamp",
      [script.sessionId],
    );
    expect(actions.map(({ step_number }) => step_number)).toEqual([1, 2, 3, 4, 5]);
    expect(new Set(actions.map(({ timestamp }) => (timestamp as Date).toISOString()))).toEqual(new Set([then]));
  });

  test("query pattern 4 of the specification: the average tokens per run are computed", async () => {
    const script = await scripted();
    for (let i = 0; i < 2; i++) await script.toolTurn(`turn ${i}`);
    const averages = await rows(
      `SELECT agent_uuid, AVG((usage->>'input_tokens')::int + (usage->>'output_tokens')::int) as avg_tokens
       FROM agent.conversation_history
       WHERE started_at > NOW() - INTERVAL '7 days'
       GROUP BY agent_uuid`,
    );
    const mine = averages.find(({ agent_uuid }) => agent_uuid === script.sessionId);
    expect(Number(mine?.["avg_tokens"])).toBe(6400);
  });

  test("query pattern 5 of the specification: errors are read newest first", async () => {
    const runs: string[] = [];
    // The times are in the future, so that errors of other tests are older.
    for (const happenedAt of ["2099-02-01T10:00:00.000Z", "2099-03-01T10:00:00.000Z", "2099-01-01T10:00:00.000Z"]) {
      const script = createScript({ store, ids, happenedAt });
      await script.create();
      runs.push(await everyAction(script));
    }
    const [february, march, january] = runs;
    const errors = await rows(
      `SELECT agent_uuid, run_id, timestamp, action_data
       FROM agent.agent_runs
       WHERE action_type = 'error'
       ORDER BY timestamp DESC
       LIMIT 50`,
    );
    expect(errors.slice(0, 12).map(({ run_id }) => run_id)).toEqual(
      [march, february, january].flatMap((runId) => [runId, runId, runId, runId]),
    );
    expect(errors.slice(0, 4).map(({ action_data }) => action_data)).toContainEqual({
      error: { code: "overloaded_error", message: "Overloaded \uFFFD", status: 529 },
    });
  });
});

describe("schema api (Claude API)", () => {
  test("the Claude API views show a session with its cost in dollars and the Claude API's status", async () => {
    const script = createScript({ store, ids });
    await script.create({ working_directory: "/w", metadata: { k: "\0" } });
    const status = async () =>
      (await only("select status from api.sessions where id = $1", [script.sessionId]))["status"];
    expect(await status()).toBe("active");
    await script.toolTurn("hi");
    expect(await only("select * from api.sessions where id = $1", [script.sessionId])).toMatchObject({
      status: "completed",
      model: "claude-sonnet-4-5",
      working_directory: "/w",
      total_turns: 1,
      total_cost_usd: "0.052140",
      parent_session_id: null,
      metadata: { k: "\uFFFD" },
    });
    await everyAction(script);
    expect(await status()).toBe("error");
  });

  test("the Claude API views show messages and results in order, and checkpoints", async () => {
    const script = await scripted();
    await script.toolTurn("hi");
    await script.append(
      [
        {
          event_type: "checkpoint.created",
          data: { checkpoint_id: ids(), user_message_uuid: "u1", files_modified: ["/a", "/b"] },
        },
      ],
      { lease: await script.claim() },
    );
    const messages = await rows("select * from api.session_messages where session_id = $1 order by created_at", [
      script.sessionId,
    ]);
    expect(messages.map(({ message_type }) => message_type)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "result",
    ]);
    expect(messages[0]?.["content"]).toMatchObject({ role: "user", content: [{ type: "text", text: "hi" }] });
    expect(messages[4]?.["content"]).toMatchObject({
      is_error: false,
      result: "The answer is 4",
      total_cost_usd: 0.05214,
    });
    expect(await only("select * from api.checkpoints where session_id = $1", [script.sessionId])).toMatchObject({
      user_message_uuid: "u1",
      files_modified: ["/a", "/b"],
    });
  });
});

describe("names, types and defaults", () => {
  test.each([
    ["api.sessions.status", "character varying(20)", "'active'::character varying"],
    ["api.sessions.model", "character varying(100)", null],
    ["api.sessions.working_directory", "character varying(500)", null],
    ["api.sessions.total_cost_usd", "numeric(10,6)", null],
    ["api.sessions.total_turns", "integer", "0"],
    ["api.sessions.metadata", "jsonb", null],
    ["api.session_messages.message_type", "character varying(20)", null],
    ["api.checkpoints.user_message_uuid", "character varying(100)", null],
    ["api.checkpoints.files_modified", "character varying[]", null],
    ["agent.agent_config.max_steps", "integer", "50"],
    ["agent.agent_config.max_tokens", "integer", "2048"],
    ["agent.agent_config.tool_names", "text[]", null],
    ["agent.agent_config.container_id", "character varying(255)", null],
    ["agent.agent_config.base_delay", "double precision", "1.0"],
    ["agent.agent_config.extras", "jsonb", "'{}'::jsonb"],
    ["agent.agent_config.pending_frontend_tools", "jsonb", "'[]'::jsonb"],
    ["agent.conversation_history.messages", "jsonb", null],
    ["agent.conversation_history.stop_reason", "character varying(50)", null],
    ["agent.agent_runs.log_id", "bigint", null],
    ["agent.agent_runs.action_type", "character varying(100)", null],
    ["agent.agent_runs.timestamp", "timestamp with time zone", "now()"],
    ["platform.events.data", "json", null],
    ["platform.sessions.tags", "text[]", null],
  ])("the column %s has the type %s", async (name, type, byDefault) => {
    const [schema, table, column] = name.split(".");
    const found = await only(
      `select format_type(a.atttypid, a.atttypmod) as type, pg_get_expr(d.adbin, d.adrelid) as default
      from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = $1::regclass and a.attname = $2`,
      [`${schema}.${table}`, column],
    );
    expect(found).toEqual({ type, default: byDefault });
  });
});

describe("a write that violates a constraint is rejected", () => {
  const session = "01890000-0000-7000-8000-0000000000aa";
  beforeAll(async () => {
    await createScript({ store, ids, sessionId: session }).create();
  });

  test.each([
    ["a status that is not specified", "update skein.sessions set status = 'paused' where id = $1", "23514"],
    ["an outcome that is not specified", "update skein.sessions set outcome = 'great' where id = $1", "23514"],
    ["turns below 0", "update skein.heads set total_turns = -1 where session_id = $1", "23514"],
    ["money below 0", "update skein.heads set cost_micros = -1 where session_id = $1", "23514"],
    ["a title that is too long", "update skein.sessions set title = repeat('x', 256) where id = $1", "23514"],
    [
      "a folder that is too long",
      "update skein.sessions set working_directory = repeat('x', 501) where id = $1",
      "23514",
    ],
    ["a model that is too long", "update skein.sessions set model = repeat('x', 101) where id = $1", "23514"],
    ["no model", "update skein.sessions set model = null where id = $1", "23502"],
    [
      "a role that is not specified",
      `insert into skein.messages (id, session_id, message_id, part, role, content, sequence, created_at)
      values (gen_random_uuid(), $1, gen_random_uuid(), 0, 'robot', '{}', 1, now())`,
      "23514",
    ],
    [
      "content that is not JSON",
      `insert into skein.messages (id, session_id, message_id, part, role, content, sequence, created_at)
      values (gen_random_uuid(), $1, gen_random_uuid(), 0, 'user', '{', 1, now())`,
      "22P02",
    ],
    [
      "a checkpoint of no session",
      `insert into skein.checkpoints (id, session_id, user_message_uuid, files_modified, created_at)
      select $1, gen_random_uuid(), 'u', '{}', now()`,
      "23503",
    ],
    [
      "a sequence that is taken",
      `insert into skein.events (session_id, sequence, id, v, event_type, data, created_at)
      values ($1, 1, gen_random_uuid(), 1, 'x', '{}', now())`,
      "23505",
    ],
    [
      "a checkpoint with a relative path",
      `insert into skein.checkpoints (id, session_id, user_message_uuid, files_modified, created_at)
      values (gen_random_uuid(), $1, 'u', array['/a', 'b'], now())`,
      "23514",
    ],
    [
      "two checkpoints for one message",
      `insert into skein.checkpoints (id, session_id, user_message_uuid, files_modified, created_at)
      select gen_random_uuid(), $1, 'same', array['/a'], now() from generate_series(1, 2)`,
      "23505",
    ],
    [
      "two runs with one number",
      `insert into skein.runs (id, session_id, number, started_at, user_message, first_sequence)
      select gen_random_uuid(), $1, 1, now(), '', 1 from generate_series(1, 2)`,
      "23505",
    ],
    [
      "a run without its prompt",
      `insert into skein.runs (id, session_id, number, started_at, first_sequence)
      values (gen_random_uuid(), $1, 1, now(), 1)`,
      "23502",
    ],
    ["anything through a view", "insert into agent.agent_runs (agent_uuid) values ($1)", "55000"],
  ])("%s", async (_, statement, code) => {
    await expect(client.query(statement, [session])).rejects.toMatchObject({ code });
  });
});

describe("every lookup for which the specification names an index uses an index", () => {
  beforeAll(fill);

  /** Creates many rows inside the database. */
  async function fill(): Promise<void> {
    await client.query(`
      insert into skein.heads (session_id, tenant, last_sequence, fact_version, updated_at)
      select md5('s' || i)::uuid, 'many', 20, 1, now() - i * interval '1 minute' from generate_series(1, 2000) i;
      insert into skein.sessions (id, tenant, agent_id, agent_version, model, tags, created_at, changed_at, last_run_at, status)
      select md5('s' || i)::uuid, 'many', md5('a' || i % 200)::uuid, 1, 'm', array['t' || i % 100],
        now() - i * interval '1 minute', now() - i * interval '1 minute', now() - i * interval '1 minute', case when i % 50 = 0 then 'running' else 'idle' end
      from generate_series(1, 2000) i;
      insert into skein.runs (id, session_id, number, started_at, user_message, first_sequence)
      select md5('r' || i || '.' || n)::uuid, md5('s' || i)::uuid, n, now() - i * interval '1 minute', 'hi', 2
      from generate_series(1, 2000) i, generate_series(1, 5) n;
      insert into skein.events (session_id, sequence, id, v, event_type, run_id, data, created_at)
      select md5('s' || i)::uuid, n, gen_random_uuid(), 1,
        case n % 4 when 0 then 'message.created' when 1 then 'step.started' when 2 then 'tool.completed' else 'step.error' end,
        md5('r' || i || '.' || n / 4)::uuid, '{"step":1,"is_error":false}', now() - i * interval '1 minute'
      from generate_series(1, 2000) i, generate_series(1, 20) n;
      insert into skein.messages (id, session_id, message_id, part, number, role, content, sequence, created_at)
      select md5('m' || i || '.' || n)::uuid, md5('s' || i)::uuid, md5('m' || i || '.' || n)::uuid, 0, n, 'user', '{}', n, now()
      from generate_series(1, 2000) i, generate_series(1, 5) n;
      insert into skein.checkpoints (id, session_id, user_message_uuid, files_modified, created_at)
      select md5('c' || i)::uuid, md5('s' || i)::uuid, 'u' || i, '{}', now() from generate_series(1, 2000) i;
      analyze;
      -- Without this setting, PostgreSQL would read tables this small with several processes instead of with an index.
      set max_parallel_workers_per_gather = 0`);
  }

  const session = "md5('s77')::uuid";
  const run = "md5('r77.2')::uuid";
  test.each([
    [
      "agent_config by its key",
      `select model from agent.agent_config where agent_uuid = ${session}`,
      ["sessions_pkey"],
    ],
    [
      "idx_agent_config_updated",
      "select agent_uuid from agent.agent_config order by updated_at desc limit 20",
      ["sessions_changed"],
    ],
    [
      "idx_agent_config_last_run",
      "select agent_uuid from agent.agent_config where last_run_at is not null order by last_run_at desc limit 20",
      ["sessions_last_run"],
    ],
    [
      "idx_conv_agent_uuid",
      `select run_id from agent.conversation_history where agent_uuid = ${session} order by sequence_number desc limit 20`,
      ["runs_number", "runs_started"],
    ],
    [
      "idx_conv_started_at",
      `select run_id from agent.conversation_history where agent_uuid = ${session} and started_at > now() - interval '1 day' order by started_at desc`,
      ["runs_started", "runs_number"],
    ],
    ["idx_conv_run_id", `select user_message from agent.conversation_history where run_id = ${run}`, ["runs_pkey"]],
    [
      "idx_runs_agent_run",
      `select action_type from agent.agent_runs where agent_uuid = ${session} and run_id = ${run} order by timestamp`,
      ["run_id_event_type_created_at_idx"],
    ],
    [
      "query pattern 3",
      `select action_data from agent.agent_runs where run_id = ${run} order by timestamp`,
      ["run_id_event_type_created_at_idx"],
    ],
    [
      "idx_runs_action_type",
      "select run_id from agent.agent_runs where action_type = 'max_steps_reached'",
      [/log_events_\d_time/],
    ],
    [
      "query pattern 5",
      "select run_id, action_data from agent.agent_runs where action_type = 'error' order by timestamp desc limit 50",
      [/log_events_\d_time/],
    ],
    [
      "idx_runs_timestamp",
      "select log_id from agent.agent_runs order by timestamp desc limit 50",
      [/log_events_\d_time/],
    ],
    [
      "session_messages.session_id",
      `select id from api.session_messages where session_id = ${session}`,
      [/log_events_\d_pkey/],
    ],
    [
      "checkpoints.session_id",
      `select id from api.checkpoints where session_id = ${session}`,
      ["checkpoints_user_message"],
    ],
    [
      "checkpoints.user_message_uuid",
      `select id from api.checkpoints where session_id = ${session} and user_message_uuid = 'u77'`,
      ["checkpoints_user_message"],
    ],
    ["idx_sessions_status", "select id from api.sessions where status = 'error'", ["sessions_api_status"]],
    [
      "idx_sessions_created_at",
      "select id from api.sessions order by created_at desc limit 5",
      ["sessions_api_created", "sessions_created"],
    ],
    ["api sessions by id", `select status from api.sessions where id = ${session}`, ["sessions_pkey"]],
    [
      "messages of a session in order",
      `select id from platform.messages where session_id = ${session} order by sequence`,
      ["messages_number"],
    ],
    [
      "events of a session in order",
      `select id from platform.events where session_id = ${session} order by sequence`,
      [/log_events_\d_pkey/],
    ],
  ])("%s", async (_, query, indexes) => {
    const plan = (await rows(`explain ${query}`)).map((row) => String(row["QUERY PLAN"])).join("\n");
    expect(indexes.some((index) => plan.match(index))).toBe(true);
    expect(plan).not.toMatch(/Seq Scan on (log_events_\d|events|sessions|runs|messages|heads|checkpoints)/);
  });
});
