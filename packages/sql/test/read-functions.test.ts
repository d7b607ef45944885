import { expect, test } from "vitest";
import { withoutReadCalls } from "../src/plan/read-calls.ts";
import { ask, folder, open, write } from "./sql.ts";

const SESSION = "be74c085-8d87-49a7-9100-7f0e83f29a10";

test.each([
  ["the path by position", "FROM read_plans('/a')", "/a", undefined],
  ["path =", "FROM read_plans(path = '/a')", "/a", undefined],
  ["path := and source :=", "FROM READ_PLANS ( source := 'claude', path := '/it''s' )", "/it's", "claude"],
  ["no path", "FROM read_plans()", undefined, undefined],
])("a read function called with %s becomes a table", (_, sql, path, source) => {
  expect(withoutReadCalls(sql)).toEqual({
    sql: "FROM skein.read_call_1",
    calls: [{ name: "read_plans", path, source, table: "skein.read_call_1" }],
  });
});

test.each([
  "SELECT 'read_plans()' AS \"read_plans()\" -- read_plans()\n/* read_plans() */",
  "SELECT $$ read_plans() $$",
  "FROM my.read_plans('/a')",
  "FROM my_read_plans('/a')",
  "FROM read_plans(getvariable('x'))",
  "FROM read_plans(x)",
])("withoutReadCalls leaves %s unchanged", (sql) => {
  expect(withoutReadCalls(sql)).toEqual({ sql, calls: [] });
});

test("queries for the agent_data extension run, with its columns and rows", async () => {
  const root = folder("it's a root ");
  write(root, `projects/-p/${SESSION}.jsonl`, [
    {
      type: "user",
      uuid: "u1",
      cwd: "/p",
      timestamp: "2026-10-01T10:00:00Z",
      message: { role: "user", content: "hi" },
    },
    {
      type: "assistant",
      slug: "keen-juggling-origami",
      message: {
        role: "assistant",
        content: [
          { type: "text", text: "ok" },
          { type: "tool_use", id: "t1", name: "Bash", input: { command: "ls" } },
        ],
        usage: { input_tokens: 3, output_tokens: 4 },
      },
    },
  ]);
  write(root, "projects/-p/torn.jsonl", '{"type":"us');
  write(root, "plans/keen-juggling-origami.md", "# Plan");
  write(root, `todos/${SESSION}-agent-${SESSION}.json`, '[{"content":"c","status":"pending"}]');
  write(root, "todos/a-agent-a.json", "no");
  write(root, "history.jsonl", '{"display":"hello","pastedContents":{},"timestamp":5,"project":"/p"}\nno\n');
  const sql = await open(folder());
  const path = root.replaceAll("'", "''");
  const conversations = await ask(sql, `SELECT * FROM read_conversations('${path}') ORDER BY file_name, line_number`);
  expect(Object.keys(conversations[0] ?? {})).toHaveLength(29);
  expect(conversations).toMatchObject([
    {
      source: "claude",
      session_id: SESSION,
      project_path: "/p",
      project_dir: "-p",
      is_agent: false,
      line_number: 1,
      message_content: "hi",
    },
    { tool_name: "Bash", tool_input: '{"command":"ls"}', input_tokens: 3, message_content: "ok", line_number: 2 },
    {
      message_type: "_parse_error",
      line_number: 1,
      message_content: expect.stringMatching(/^Parse error: ./) as string,
    },
  ]);
  expect(
    await ask(
      sql,
      `SELECT c.slug, p.content FROM read_conversations(path = '${path}') c JOIN read_plans(path := '${path}') p ON p.plan_name = c.slug`,
    ),
  ).toEqual([{ slug: "keen-juggling-origami", content: "# Plan" }]);
  expect(await ask(sql, `SELECT item_index, status FROM read_todos('${path}') ORDER BY ALL`)).toEqual([
    { item_index: -1, status: "_parse_error" },
    { item_index: 0, status: "pending" },
  ]);
  expect(await ask(sql, `SELECT line_number, display FROM read_history('${path}') ORDER BY 1`)).toMatchObject([
    { line_number: 1, display: "hello" },
    { line_number: 2, display: expect.stringContaining("Parse error: ") as string },
  ]);
  expect(await ask(sql, `SELECT * FROM read_stats('${path}')`)).toEqual([]);
  expect(await ask(sql, `SELECT * FROM read_conversations('${path}', source := 'codex')`)).toEqual([]);
  expect(await ask(sql, "SELECT * FROM read_conversations('no/such/path')")).toEqual([]);
});

test("read functions use the session id of each line, take a missing role from the type of the line, and keep the order of the files", async () => {
  const root = folder();
  const OTHER = "be74c085-8d87-49a7-9100-7f0e83f29a11";
  write(root, `projects/-p/${SESSION}.jsonl`, [
    { type: "user", sessionId: OTHER, message: { content: "from another" } },
    { type: "assistant", sessionId: SESSION },
    { type: "summary", summary: "s" },
  ]);
  write(root, "plans/b.md", "b");
  write(root, "plans/a.md", "a");
  write(root, "todos/a-agent-a.json", "no");
  const entry = (timestamp: number) => ({ display: String(timestamp), pastedContents: {}, timestamp, project: "/p" });
  write(root, "history.jsonl", `${JSON.stringify(entry(5))}\nno\n${JSON.stringify(entry(6))}\n`);
  const sql = await open(root);
  expect(await ask(sql, "SELECT session_id, message_role FROM read_conversations()")).toEqual([
    { session_id: OTHER, message_role: "user" },
    { session_id: SESSION, message_role: "assistant" },
    { session_id: SESSION, message_role: null },
  ]);
  expect(await ask(sql, "SELECT plan_name FROM read_plans()")).toEqual([{ plan_name: "a" }, { plan_name: "b" }]);
  expect(await ask(sql, "SELECT line_number FROM read_history()")).toEqual(
    [1, 2, 3].map((line_number) => ({ line_number })),
  );
  expect(await ask(sql, "SELECT content FROM read_todos()")).toEqual([{ content: "Parse error: not JSON" }]);
});

test("a script that begins by installing and loading agent_data runs unchanged", async () => {
  const root = folder();
  write(root, "plans/a.md", "a");
  const sql = await open(root);
  const script = `INSTALL agent_data FROM community;\nLOAD agent_data;
    LOAD 'build/debug/agent_data.duckdb_extension';\nSELECT plan_name FROM read_plans();`;
  expect(await sql.run(script)).toMatchObject([{ rows: [["a"]] }]);
});
