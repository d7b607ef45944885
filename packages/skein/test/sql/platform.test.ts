import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import { createMemoryStore } from "@skein/core";
import { createIds } from "@skein/protocol";
import { createSql } from "@skein/sql";
import { expect, onTestFinished, test } from "vitest";
import { dataFolder, lines, skein } from "../cli/skein.ts";
import { playSessions } from "../conformance/played-sessions.ts";

/** A store's own view, and the same in DuckDB. Times and JSON are written differently, so they are left out. */
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
];

test("the platform's tables have the rows of the store's own views, and both worlds are one", async () => {
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
    const order = "ORDER BY 1, 2, 3";
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
  const [sessions] = await sql.run("SELECT title FROM all_sessions WHERE source = 'skein' AND title = 'Nothing yet'");
  expect(sessions?.rows).toEqual([["Nothing yet"]]);
});

test("the rows are the same from another kind of store", async () => {
  const store = createMemoryStore();
  await playSessions(store, createIds());
  const folder = mkdtempSync(join(tmpdir(), "skein-sql-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const sql = await createSql({ roots: [folder], store });
  onTestFinished(() => sql.close());
  const [counts] = await sql.run("SELECT count(*) > 0, count(DISTINCT session_id) > 3 FROM platform.events");
  expect(counts?.rows).toEqual([[true, true]]);
});

test("skein sql finds the store of the data folder, and makes none", async () => {
  const folder = dataFolder();
  const question = "SELECT count(*) AS n FROM platform.sessions";
  expect(lines((await skein(folder, "sql", question, "--jsonl")).out)).toEqual([{ n: 0 }]);
  const file = join(folder, "other.db");
  const store = await createSqliteStore({ file });
  await playSessions(store, createIds());
  await store.close();
  const { out } = await skein(folder, "sql", question, "--jsonl", "--store", `sqlite:${file}`);
  expect(lines(out)).toEqual([{ n: expect.any(Number) as number }]);
  expect(out).not.toContain(":0}");
});
