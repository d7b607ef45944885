import { expect, test } from "vitest";
import { ask, folder, open, write } from "./sql.ts";

/** The columns of the SQL specification, in its order. The conformance list refers to these lines. */
const COLUMNS = [
  "claude_conversations: session_id VARCHAR",
  "claude_conversations: project_path VARCHAR",
  "claude_conversations: message_uuid VARCHAR",
  "claude_conversations: parent_uuid VARCHAR",
  "claude_conversations: message_type VARCHAR",
  "claude_conversations: timestamp TIMESTAMP",
  "claude_conversations: content TEXT",
  "claude_conversations: model VARCHAR",
  "claude_conversations: tool_uses JSON",
  "claude_conversations: token_usage JSON",
  "claude_conversations: slug VARCHAR",
  "claude_conversations: git_branch VARCHAR",
  "claude_conversations: cwd VARCHAR",
  "claude_plans: plan_name VARCHAR",
  "claude_plans: slug VARCHAR",
  "claude_plans: content TEXT",
  "claude_plans: file_size INTEGER",
  "claude_plans: created_at TIMESTAMP",
  "claude_plans: modified_at TIMESTAMP",
  "claude_todos: session_id VARCHAR",
  "claude_todos: agent_id VARCHAR",
  "claude_todos: todo_index INTEGER",
  "claude_todos: content TEXT",
  "claude_todos: status VARCHAR",
  "claude_todos: active_form VARCHAR",
  "claude_history: timestamp TIMESTAMP",
  "claude_history: project VARCHAR",
  "claude_history: session_id VARCHAR",
  "claude_history: display TEXT",
  "claude_history: pasted_contents JSON",
  "claude_stats: date DATE",
  "claude_stats: message_count INTEGER",
  "claude_stats: session_count INTEGER",
  "claude_stats: tool_call_count INTEGER",
];

test("the tables without a schema begin with the columns of the SQL specification, with their names and types", async () => {
  const sql = await open(folder());
  const tables = new Map((await sql.tables()).map(({ name, columns }) => [name, columns]));
  const seen = new Map<string, number>();
  for (const text of COLUMNS) {
    const [table = "", column = ""] = text.split(": ");
    const at = seen.get(table) ?? 0;
    seen.set(table, at + 1);
    const found = tables.get(table)?.[at];
    // DuckDB has the names TEXT and VARCHAR for the same type.
    expect(`${found?.name} ${found?.type}`).toBe(column.replace("TEXT", "VARCHAR"));
  }
});

test("claude_stats has one row for each day, even if the cache repeats the day and transcripts contain it", async () => {
  const root = folder();
  const day = { date: "2026-10-01", messageCount: 1, sessionCount: 1, toolCallCount: 0 };
  write(
    root,
    "stats-cache.json",
    JSON.stringify({ version: 1, lastComputedDate: day.date, dailyActivity: [day, day] }),
  );
  write(root, "projects/p/a.jsonl", [
    { type: "user", timestamp: "2026-10-01T10:00:00Z" },
    { type: "user", timestamp: "2026-10-02T10:00:00Z" },
  ]);
  const rows = await ask(await open(root), "SELECT date, count(*) AS n FROM claude_stats GROUP BY ALL ORDER BY ALL");
  expect(rows).toEqual([
    { date: "2026-10-01", n: 1 },
    { date: "2026-10-02", n: 1 },
  ]);
});

test("todo items have the states pending, in_progress and completed", async () => {
  const root = folder();
  const items = ["pending", "in_progress", "completed"].map((status) => ({ content: status, status }));
  write(root, "todos/s-agent-s.json", JSON.stringify(items));
  const rows = await ask(await open(root), "SELECT status, todo_index FROM claude_todos ORDER BY todo_index");
  expect(rows.map(({ status }) => status)).toEqual(["pending", "in_progress", "completed"]);
});
