import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execFileSync } from "node:child_process";
import { DatabaseSync } from "node:sqlite";
import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import { RARE_EVENT } from "../src/stores/sqlite/schema.ts";
import { createAgents, createModels } from "@skein/core";
import { type Script, createScript, playSearches } from "@skein/core/testing";
import { DIALECTS, actionLogs, createIds } from "@skein/protocol";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

/** The database of the store, opened without Skein, as in a sqlite shell. */
let db: DatabaseSync;
let script: Script;
let close: () => Promise<void>;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "skein-views-"));
  const file = join(folder, "skein.db");
  const store = await createSqliteStore({ file });
  const ids = createIds();
  const model = await createModels({ records: store.records, ids }).add({ name: "claude-sonnet-5-5", isDefault: true });
  await createAgents({ records: store.records, ids }).create({
    name: "Helper",
    model: "m",
    tags: ["a"],
    default_model_id: model.id,
  });
  script = createScript({ store, ids });
  await script.create({ title: "A title", tags: ["blue"], metadata: { user: "u" } });
  await script.toolTurn("How much is 2+2?");
  await script.toolTurn("And 3+3?\0");
  const { runId, messageId } = await script.prompt("third");
  const lease = await script.claim();
  const step = { run_id: runId, step: 1 };
  await script.append(
    [
      {
        event_type: "session.started",
        data: { run_id: runId, message_id: messageId, user_message: "third", formatter: "json" },
      },
      {
        event_type: "step.error",
        data: { ...step, error: { code: "api_error", message: "it broke" }, duration_ms: 4 },
      },
      {
        event_type: "file.stored",
        data: {
          ...step,
          file_id: "f1",
          filename: "a.png",
          storage_path: "/f1_a.png",
          size: 3,
          mime_type: "image/png",
          duration_ms: 1,
        },
      },
      {
        event_type: "await.opened",
        data: {
          ...step,
          awaits: [
            {
              tool_use_id: "t1",
              kind: "frontend_tool",
              name: "confirm",
              input: { a: 1 },
              expires_at: null,
              session_id: null,
            },
          ],
        },
      },
      {
        event_type: "checkpoint.created",
        data: { checkpoint_id: ids(), user_message_uuid: "u1", files_modified: ["/a"] },
      },
    ],
    { lease },
  );
  db = new DatabaseSync(file, { readOnly: true });
  close = async () => {
    db.close();
    await store.close();
    await rm(folder, { recursive: true, force: true });
  };
});
afterAll(() => close());

const json = (value: unknown): unknown => JSON.parse(value as string);

test("the cost of a run has a part for server tools", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skein-views-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "skein.db");
  const store = await createSqliteStore({ file });
  const searching = createScript({ store, ids: createIds() });
  await searching.create();
  await playSearches(searching);
  await store.close();
  const own = new DatabaseSync(file, { readOnly: true });
  const row = own.prepare("SELECT cost FROM conversation_history").get() ?? {};
  own.close();
  expect(json(row["cost"])).toMatchObject({ server_tool_cost: 0.03, total_cost: 0.0345 });
});

test("the actions of an adopted session have the times at which they happened", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skein-views-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "skein.db");
  const store = await createSqliteStore({ file });
  const then = "2026-05-04T10:00:00.000Z";
  const adopted = createScript({ store, ids: createIds(), happenedAt: then });
  await adopted.create();
  await adopted.toolTurn("months ago");
  const logged = (await store.read(adopted.sessionId)).flatMap(actionLogs);
  await store.close();
  const own = new DatabaseSync(file, { readOnly: true });
  const rows = own.prepare("SELECT timestamp, action_type FROM agent_runs ORDER BY timestamp, log_id").all();
  own.close();
  expect(rows).toEqual(logged.map(({ timestamp, action_type }) => ({ timestamp, action_type })));
  expect(new Set(rows.map(({ timestamp }) => timestamp))).toEqual(new Set([then]));
});

test("pattern 1: an agent is resumed from a single row", () => {
  const row = db.prepare("SELECT * FROM agent_config WHERE agent_uuid = ?").get(script.sessionId) ?? {};
  expect(row).toMatchObject({
    model: "claude-sonnet-4-5",
    max_steps: 50,
    thinking_tokens: 0,
    max_tokens: 2048,
    formatter: "json",
    compactor_type: "none",
    max_retries: 5,
    base_delay: 1,
    title: "A title",
    total_runs: 3,
    awaiting_frontend_tools: 1,
    last_known_input_tokens: 1900,
  });
  expect((json(row["messages"]) as { role: string }[]).map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "user",
    "assistant",
    "user",
    "assistant",
    "user",
    "assistant",
  ]);
  expect(json(row["pending_frontend_tools"])).toEqual([{ tool_use_id: "t1", name: "confirm", input: { a: 1 } }]);
  expect(json(row["file_registry"])).toMatchObject({ f1: { filename: "a.png", size: 3 } });
});

test("pattern 2: conversations are read page by page, newest first", () => {
  const rows = db
    .prepare(
      `SELECT conversation_id, user_message, final_response, started_at, generated_files, total_steps
         FROM conversation_history WHERE agent_uuid = ? ORDER BY sequence_number DESC LIMIT 20 OFFSET 0`,
    )
    .all(script.sessionId);
  expect(rows.map(({ user_message }) => user_message)).toEqual(["third", "And 3+3?\uFFFD", "How much is 2+2?"]);
  expect(json(rows[0]?.["generated_files"])).toMatchObject([{ file_id: "f1", step: 1 }]);
  const first =
    db.prepare("SELECT messages, cost, usage FROM conversation_history WHERE sequence_number = 1").get() ?? {};
  expect(json(first["messages"])).toMatchObject([
    { role: "user", content: "How much is 2+2?" },
    { role: "assistant", content: [{ type: "text" }, { type: "tool_use", name: "search" }] },
    { role: "user", content: [{ type: "tool_result", content: "4" }] },
    { role: "assistant", content: [{ type: "text", text: "The answer is 4" }] },
  ]);
  expect(json(first["cost"])).toEqual({
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
});

test("pattern 3: a run is read action by action", () => {
  const runId = db.prepare("SELECT run_id FROM conversation_history WHERE sequence_number = 1").get()?.[
    "run_id"
  ] as string;
  const rows = db
    .prepare(
      "SELECT timestamp, step_number, action_type, action_data, duration_ms FROM agent_runs WHERE run_id = ? ORDER BY timestamp ASC, log_id",
    )
    .all(runId);
  expect(rows.map(({ action_type }) => action_type)).toEqual([
    "run_started",
    "context_transformation",
    "api_call_started",
    "api_response_received",
    "context_transformation",
    "tool_execution",
    "context_transformation",
    "api_call_started",
    "api_response_received",
    "context_transformation",
    "run_completed",
  ]);
  expect(json(rows[5]?.["action_data"])).toMatchObject({
    tool_name: "search",
    result: "4",
    success: true,
    execution_time_ms: 12,
  });
  expect((json(rows[7]?.["action_data"]) as { messages_sent: unknown[] }).messages_sent).toHaveLength(3);
});

test("pattern 4: the average tokens per run are computed", () => {
  const rows = db
    .prepare(
      `SELECT agent_uuid, AVG((usage ->> 'input_tokens') + (usage ->> 'output_tokens')) AS avg_tokens
         FROM conversation_history WHERE started_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-7 days') GROUP BY agent_uuid`,
    )
    .all();
  expect(rows).toEqual([{ agent_uuid: script.sessionId, avg_tokens: (6400 + 6400) / 3 }]);
});

test("pattern 5: errors are read newest first", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skein-views-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "skein.db");
  const store = await createSqliteStore({ file });
  const ids = createIds();
  for (const month of ["02", "03", "01"]) {
    const failed = createScript({ store, ids, happenedAt: `2026-${month}-01T10:00:00.000Z` });
    await failed.create();
    const error = { code: "api_error", message: `it broke in month ${month}` };
    const fact = { event_type: "step.error" as const, data: { run_id: ids(), step: 1, error, duration_ms: 4 } };
    await failed.append([fact], { lease: await failed.claim() });
  }
  await store.close();
  const own = new DatabaseSync(file, { readOnly: true });
  const rows = own
    .prepare(
      "SELECT agent_uuid, run_id, timestamp, action_data FROM agent_runs WHERE action_type = 'error' ORDER BY timestamp DESC LIMIT 50",
    )
    .all();
  own.close();
  expect(rows.map(({ action_data }) => json(action_data))).toEqual(
    ["03", "02", "01"].map((month) => ({ error: { code: "api_error", message: `it broke in month ${month}` } })),
  );
});

test("the sqlite views show the tables of the platform API and of the Claude API", () => {
  const one = (sql: string): Record<string, unknown> => ({ ...db.prepare(sql).get() });
  expect(one("select * from platform_agents")).toMatchObject({ name: "Helper", status: "active", tags: '["a"]' });
  expect(one("select * from platform_llm_models")).toMatchObject({ name: "claude-sonnet-5-5", is_default: 1 });
  expect(one("select * from platform_sessions")).toMatchObject({ title: "A title", status: "running" });
  expect(one("select count(*) as n from platform_messages")).toEqual({ n: 10 });
  expect(Object.keys(one("select * from platform_events"))).toEqual([
    "id",
    "session_id",
    "sequence",
    "event_type",
    "data",
    "created_at",
  ]);
  expect(one("select * from api_sessions")).toMatchObject({
    status: "active",
    total_turns: 2,
    total_cost_usd: 0.10428,
  });
  expect(one("select * from api_checkpoints")).toMatchObject({ user_message_uuid: "u1", files_modified: '["/a"]' });
  const types = db.prepare("select message_type from api_session_messages order by created_at").all();
  expect(new Set(types.map(({ message_type }) => message_type))).toEqual(new Set(["user", "assistant", "result"]));
});

test.each([
  ["agent_config by id", "SELECT model FROM agent_config WHERE agent_uuid = 'x'"],
  ["agent_config by updated_at", "SELECT agent_uuid FROM agent_config ORDER BY updated_at DESC LIMIT 5"],
  [
    "conversations of an agent",
    "SELECT user_message FROM conversation_history WHERE agent_uuid = 'x' ORDER BY sequence_number DESC LIMIT 20",
  ],
  ["conversation of a run", "SELECT user_message FROM conversation_history WHERE run_id = 'x'"],
  ["actions of a run", "SELECT action_type FROM agent_runs WHERE run_id = 'x'"],
  ["checkpoints of a session", "SELECT id FROM api_checkpoints WHERE session_id = 'x'"],
  ["messages of a session", "SELECT id FROM platform_messages WHERE session_id = 'x' ORDER BY sequence"],
  ["events of a session", "SELECT id FROM platform_events WHERE session_id = 'x' ORDER BY sequence"],
])("%s is looked up without reading a whole table", (_, sql) => {
  expect(
    planOf(sql).filter((line) => /^SCAN (events|e|sessions|s|runs|r|messages|m|checkpoints)\b(?!.*USING)/.test(line)),
  ).toEqual([]);
});

function planOf(sql: string): readonly string[] {
  return db
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(({ detail }) => String(detail));
}

test("an index finds actions of rare types", () => {
  const everyTurn = Object.entries(DIALECTS).filter(([type]) => RARE_EVENT.includes(`'${type}'`));
  const plan = planOf("SELECT agent_uuid FROM agent_runs WHERE action_type = 'error'").filter((line) =>
    / e\b/.test(line),
  );
  const scans = plan.filter((line) => line === "SCAN e");
  expect(scans).toHaveLength(everyTurn.reduce((sum, [, { actions }]) => sum + actions.length, 0));
  const searches = plan.filter((line) => line !== "SCAN e");
  expect(searches).not.toEqual([]);
  expect(searches.filter((line) => !line.startsWith("SEARCH e USING INDEX events_rare (event_type=?"))).toEqual([]);
});

test("Debian's sqlite3 (3.40) reads every view and copies the file", () => {
  const asked = (at: string, sql: string): string => execFileSync("sqlite3", [at, sql], { encoding: "utf8" });
  const file = String(db.prepare("pragma database_list").get()?.["file"]);
  const copy = join(file, "..", "copy.db");
  asked(file, `vacuum into '${copy}'`);
  const views = asked(copy, "select name from sqlite_master where type = 'view'").trim().split("\n");
  expect(views.length).toBeGreaterThan(10);
  for (const view of views) {
    const rows = JSON.stringify(db.prepare(`select * from ${view}`).all().length);
    expect([view, asked(copy, `select count(*) from ${view}`).trim()]).toEqual([view, rows]);
  }
});
