import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { adopt, readClaudeSession } from "@skein/adapters/runtimes/claude-code/adopt";
import { createFilesystemStore } from "@skein/adapters/stores/filesystem";
import { createPostgresStore } from "@skein/adapters/stores/postgres";
import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import { type Store, createAgents, createMemoryStore } from "@skein/core";
import { createScript } from "@skein/core/testing";
import { getSession, getUsage } from "@skein/history";
import { writeCorpus } from "@skein/history/testing";
import { createIds } from "@skein/protocol";
import { createKeys } from "@skein/server";
import { createSql, examples } from "@skein/sql";
import { expect, inject, onTestFinished, test } from "vitest";
import { createDatabase } from "../../../../scripts/postgres.ts";
import { dataFolder, lines, skein } from "../skein.ts";
import { playSessions } from "../../../skein/test/conformance/played-sessions.ts";

/** Views of a store, and the tables of DuckDB with the same rows. Times and JSON are left out: their formats differ. */
const SAME: readonly (readonly [view: string, table: string, columns: string])[] = [
  ["platform_agents", "platform.agents", "id, name, description, system_prompt, default_model_id, status"],
  ["platform_sessions", "platform.sessions", "id, agent_id, title, model_id, status"],
  ["platform_messages", "platform.messages", "id, session_id, sequence, role, tool_call_id"],
  ["platform_events", "platform.events", "id, session_id, sequence, event_type"],
  [
    "conversation_history",
    "agent.conversation_history",
    "conversation_id, agent_uuid, run_id, user_message, final_response, stop_reason, total_steps, sequence_number",
  ],
  [
    "api_sessions",
    "api.sessions",
    "id, status, model, working_directory, total_turns, total_cost_usd, parent_session_id",
  ],
  ["api_checkpoints", "api.checkpoints", "id, session_id, user_message_uuid"],
  ["platform_llm_models", "platform.llm_models", "id, name, provider"],
  ["api_session_messages", "api.session_messages", "id, session_id, message_type"],
  [
    "agent_config",
    "agent.agent_config",
    "agent_uuid, system_prompt, model, max_steps, max_tokens, title, current_step, total_runs",
  ],
  ["agent_runs", "agent.agent_runs", "agent_uuid, run_id, action_type, step_number, messages_count, duration_ms"],
];

test("the platform's tables have the rows of the views in the store, and these rows are also in the combined tables", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-sql-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "skein.db");
  const store = await createSqliteStore({ file });
  onTestFinished(() => store.close());
  await playSessions(store, createIds());
  const views = new DatabaseSync(file, { readOnly: true });
  onTestFinished(() => views.close());
  const sql = await createSql({ roots: [folder], store });
  onTestFinished(() => sql.close());
  for (const [view, table, columns] of SAME) {
    const order = `ORDER BY ${columns
      .split(", ")
      .map((_, at) => `${at + 1} NULLS FIRST`)
      .join(", ")}`;
    const expected = views.prepare(`SELECT ${columns} FROM ${view} ${order}`).all();
    const [answer] = await sql.run(`SELECT ${columns} FROM ${table} ${order}`);
    expect(expected, view).not.toEqual([]);
    expect(answer?.rows, table).toEqual(expected.map((row) => Object.values(row)));
  }
  const [usage] = await sql.run("SELECT source, sum(input_tokens), sum(cost_micros) FROM all_usage GROUP BY 1");
  const totals = views
    .prepare(
      "SELECT sum(input_tokens) AS input, sum(case when unpriced_calls = 0 then cost_micros end) AS micros FROM runs",
    )
    .get();
  expect(usage?.rows).toEqual([["skein", totals?.["input"], totals?.["micros"]]]);
  const [texts] = await sql.run("SELECT DISTINCT text FROM all_messages WHERE role = 'user' AND text LIKE 'How much%'");
  expect(texts?.rows).toEqual([["How much is 2+2?"]]);
  const longest = examples().find(({ name }) => name === "longest-runs");
  const [runs] = await sql.run(longest?.sql ?? "");
  expect(runs?.columns.map(({ name }) => name)).toEqual(["prompt", "seconds", "steps", "run_id"]);
  expect(runs?.rows).not.toEqual([]);
  const [sessions] = await sql.run("SELECT title FROM all_sessions WHERE source = 'skein' AND title = 'Nothing yet'");
  expect(sessions?.rows).toEqual([["Nothing yet"]]);
});

test("all_usage counts the model calls of an adopted session once, with and without the files of Claude Code", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-sql-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [id = ""] = writeCorpus({ folder, files: 2, bytes: 200_000, seed: 5, subagentEvery: 0 }).sessions;
  const store = createMemoryStore();
  const found = await getSession(id, { dataPath: folder, cacheFolder: null });
  await adopt(readClaudeSession(found), { store, tenant: "default" });
  const inputOf = async (root: string): Promise<unknown> => {
    const sql = await createSql({ roots: [root], store });
    onTestFinished(() => sql.close());
    const [answer] = await sql.run(
      `SELECT count(DISTINCT source), sum(input_tokens)::INTEGER FROM all_usage WHERE session_id = '${id}'`,
    );
    return answer?.rows;
  };
  const { bySession } = await getUsage({ dataPath: folder, cacheFolder: null });
  const expected = [[1, bySession.find(({ sessionId }) => sessionId === id)?.inputTokens]];
  expect(await inputOf(folder)).toEqual(expected);
  const other = mkdtempSync(join(tmpdir(), "skein-sql-"));
  onTestFinished(() => rmSync(other, { recursive: true, force: true }));
  mkdirSync(join(other, "projects"));
  expect(await inputOf(other)).toEqual(expected);
});

test("the actions of an adopted session have the times at which they happened in agent.agent_runs", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-sql-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const store = createMemoryStore();
  const script = createScript({ store, ids: createIds(), happenedAt: "2026-05-04T10:00:00.000Z" });
  await script.create();
  await script.toolTurn("months ago");
  const sql = await createSql({ roots: [folder], store });
  onTestFinished(() => sql.close());
  const [times] = await sql.run("SELECT DISTINCT timestamp::VARCHAR FROM agent.agent_runs");
  expect(times?.rows).toEqual([["2026-05-04 10:00:00"]]);
});

test("an agent is listed before it has a session, in every tenant", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-sql-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const store = createMemoryStore();
  await createKeys({ records: store.records }).make({ name: "key", tenant: "theirs", scopes: ["run"] });
  for (const tenant of ["default", "theirs"])
    await createAgents({ records: store.records, tenant }).create({ name: `Of ${tenant}`, model: "claude-sonnet-5-5" });
  const sql = await createSql({ roots: [folder], store });
  onTestFinished(() => sql.close());
  const [agents] = await sql.run("SELECT name FROM platform.agents ORDER BY 1");
  expect(agents?.rows).toEqual([["Of default"], ["Of theirs"]]);
});

/** JSON columns. Their values are compared, because their text may differ. */
const SAME_JSON: readonly (readonly [view: string, table: string, key: string, columns: readonly string[]])[] = [
  ["api_session_messages", "api.session_messages", "id", ["content"]],
  ["conversation_history", "agent.conversation_history", "run_id", ["messages", "usage", "extras"]],
  ["agent_runs", "agent.agent_runs", "agent_uuid, log_id", ["messages_snapshot"]],
  [
    "agent_config",
    "agent.agent_config",
    "agent_uuid",
    ["messages", "tool_names", "pending_frontend_tools", "pending_backend_results", "conversation_history"],
  ],
];

test("JSON columns have the values of the views in the store", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-sql-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "skein.db");
  const store = await createSqliteStore({ file });
  onTestFinished(() => store.close());
  await playSessions(store, createIds());
  const views = new DatabaseSync(file, { readOnly: true });
  onTestFinished(() => views.close());
  const sql = await createSql({ roots: [folder], store });
  onTestFinished(() => sql.close());
  for (const [view, table, key, columns] of SAME_JSON) {
    const list = columns.join(", ");
    const expected = views.prepare(`SELECT ${list} FROM ${view} ORDER BY ${key}`).all();
    const [answer] = await sql.run(`SELECT ${list} FROM ${table} ORDER BY ${key}`);
    expect(answer?.rows.length, table).toBe(expected.length);
    for (const [at, row] of expected.entries())
      expect(answer?.rows[at], table).toEqual(columns.map((column) => JSON.parse(String(row[column])) as unknown));
  }
});

const TABLES = ["platform", "agent", "api"] as const;

/** Returns the rows of the platform's tables without ids and times. Equal rows are counted. */
async function contents(store: Store): Promise<Record<string, unknown>> {
  const folder = mkdtempSync(join(tmpdir(), "skein-sql-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const sql = await createSql({ roots: [folder], store });
  onTestFinished(() => sql.close());
  const found: Record<string, unknown> = {};
  for (const { name, columns } of await sql.tables()) {
    if (!TABLES.some((schema) => name.startsWith(`${schema}.`))) continue;
    const plain = columns
      .filter((column) => /^(VARCHAR|INTEGER|BOOLEAN)$/.test(column.type))
      .map((column) => column.name)
      .filter((column) => !/id$|_at$/.test(column));
    const [rows] = await sql.run(
      `SELECT ${["count(*) AS n", ...plain].join(", ")} FROM ${name} GROUP BY ALL ORDER BY ALL`,
    );
    found[name] = rows?.rows;
  }
  return found;
}

test("the platform's tables have the same rows for every kind of store", { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-sql-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const server = inject("postgres");
  const database = await createDatabase(server.url, { template: server.template });
  const stores = {
    memory: createMemoryStore(),
    sqlite: await createSqliteStore({ file: join(folder, "skein.db") }),
    filesystem: await createFilesystemStore({ folder: join(folder, "files") }),
    postgres: await createPostgresStore({ url: database.url }),
  };
  const found: Record<string, Record<string, unknown>> = {};
  for (const [name, store] of Object.entries(stores)) {
    await playSessions(store, createIds());
    found[name] = await contents(store);
    await store.close();
  }
  expect(Object.keys(found["memory"] ?? {})).toHaveLength(11);
  for (const [table, rows] of Object.entries(found["memory"] ?? {})) {
    expect(rows, table).not.toEqual([]);
    for (const name of Object.keys(stores)) expect(found[name]?.[table], `${table} of ${name}`).toEqual(rows);
  }
});

test("`skein sql` shows no rows if there is no store, and the rows of the store that --store names", async () => {
  const folder = dataFolder();
  const question = "SELECT count(*) AS n FROM platform.sessions";
  expect(lines((await skein(folder, "sql", question, "--format", "jsonl")).out)).toEqual([{ n: 0 }]);
  const file = join(folder, "other.db");
  const store = await createSqliteStore({ file });
  await playSessions(store, createIds());
  await store.close();
  const { out } = await skein(folder, "sql", question, "--format", "jsonl", "--store", `sqlite:${file}`);
  expect(lines(out)).toEqual([{ n: expect.any(Number) as number }]);
  expect(out).not.toContain(":0}");
});
