import { type DuckDBConnection, DuckDBInstance, type Json } from "@duckdb/node-api";
import { writeCorpus } from "@skein/history/testing";
import { type Value, initSql } from "@skein/sql";
import { expect, onTestFinished, test } from "vitest";
import { folder, open, write } from "./sql.ts";

const SESSION = "be74c085-8d87-49a7-9100-7f0e83f29a10";

/** Makes a DuckDB without Skein and runs the file of `skein sql init` in it. */
async function stock(root: string): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(":memory:", { threads: "2" });
  const connection = await instance.connect();
  onTestFinished(() => {
    connection.closeSync();
    instance.closeSync();
  });
  await connection.run(await initSql(root));
  return connection;
}

function writeRoot(): string {
  const root = folder("it's a root ");
  writeCorpus({ folder: root, files: 8, bytes: 400_000 });
  write(root, `projects/p/${SESSION}.jsonl`, [
    {
      type: "user",
      uuid: "u1",
      parentUuid: null,
      timestamp: "2026-10-01T10:00:00Z",
      message: { role: "user", content: "one" },
    },
    {
      type: "user",
      uuid: "u2",
      parentUuid: "u1",
      timestamp: "2026-10-01T10:00:01Z",
      message: { role: "user", content: "two" },
    },
    {
      type: "user",
      uuid: "u3",
      parentUuid: "u1",
      timestamp: "2026-10-01T10:00:02Z",
      message: { role: "user", content: "three" },
    },
  ]);
  write(root, "projects/p/torn.jsonl", '{"type":"user","uuid":"whole"}\n{"type":"us');
  write(root, "plans/keen-juggling-origami.md", "# Plan");
  write(root, `todos/${SESSION}-agent-${SESSION}.json`, '[{"content":"c","status":"pending","activeForm":"doing c"}]');
  write(root, "history.jsonl", [{ display: "hello", pastedContents: {}, timestamp: 1760110675230, project: "/p" }]);
  write(root, "tasks/list/1.json", '{"id":"1","subject":"s","status":"pending"}');
  write(
    root,
    "stats-cache.json",
    '{"version":1,"dailyActivity":[{"date":"2026-09-30","messageCount":4,"sessionCount":2,"toolCallCount":1}]}',
  );
  return root;
}

/** Queries that have the same answer in a DuckDB without Skein and in Skein. */
const SAME = [
  "SELECT * FROM claude_conversations ORDER BY file, line",
  "SELECT * FROM claude_stats ORDER BY ALL",
  "SELECT * EXCLUDE (created_at, modified_at) FROM claude_plans",
  "SELECT * FROM claude_todos",
  "SELECT * FROM claude_history",
  "SELECT * FROM claude.lines ORDER BY file, line",
  "SELECT * FROM claude.messages ORDER BY file, line",
  "SELECT * FROM claude.responses ORDER BY ALL",
  "SELECT * FROM claude.tool_calls ORDER BY file, line, tool_use_id",
  "SELECT * FROM claude.agents ORDER BY ALL",
  "SELECT * FROM claude.branches ORDER BY ALL",
  "SELECT task_id, subject, status FROM claude.tasks",
  "SELECT file, line FROM claude.damage",
  "SELECT session_id, project_path, agent_count FROM claude.sessions ORDER BY ALL",
];

test(
  "the file of `skein sql init` makes the same tables in a DuckDB without Skein, and can be run twice",
  { timeout: 120_000 },
  async () => {
    const root = writeRoot();
    const connection = await stock(root);
    const sql = await open(root);
    for (const question of SAME) {
      const [expected] = await sql.run(question);
      const reader = await connection.runAndReadAll(question);
      const plain = reader.getRowsJson().map((row) => row.map(loose));
      expect(expected?.rows.length, question).toBeGreaterThan(0);
      expect(plain, question).toEqual(expected?.rows.map((row) => row.map(loose)));
    }
    await connection.run(await initSql(root));
  },
);

test(
  "the file of `skein sql init` defines the read functions of the DuckDB extension agent_data as macros",
  { timeout: 120_000 },
  async () => {
    const root = writeRoot();
    const connection = await stock(root);
    const path = root.replaceAll("'", "''");
    const sql = await open(folder());
    for (const question of [
      `SELECT * EXCLUDE (project_path, message_content) FROM read_conversations('${path}') ORDER BY file_name, line_number`,
      `SELECT * FROM read_plans(path := '${path}')`,
      `SELECT * FROM read_todos('${path}')`,
      `SELECT * FROM read_history('${path}', source := 'claude')`,
      `SELECT * FROM read_stats('${path}')`,
    ]) {
      const [expected] = await sql.run(question);
      const reader = await connection.runAndReadAll(question);
      expect(reader.columnNames(), question).toEqual(expected?.columns.map(({ name }) => name));
      expect(
        reader.getRowsJson().map((row) => row.map(loose)),
        question,
      ).toEqual(expected?.rows.map((row) => row.map(loose)));
    }
  },
);

test(
  "the file of `skein sql init` skips files that are not UTF-8 or not transcripts, and lines without a prompt in the prompt history",
  { timeout: 120_000 },
  async () => {
    const root = writeRoot();
    const bad = new Uint8Array([0xff, 0xfe]);
    for (const name of ["plans/bad.md", "todos/a-agent-a.json", "tasks/list/2.json"]) write(root, name, bad);
    write(root, `projects/p/${SESSION}/subagents/workflows/wf_1/journal.jsonl`, [{ type: "started" }]);
    write(root, "history.jsonl", [
      { display: 5 },
      { display: "hello", pastedContents: {}, timestamp: 5, project: "/p" },
    ]);
    const connection = await stock(root);
    const sql = await open(root);
    for (const table of ["claude_conversations", "claude_plans", "claude_todos", "claude_history", "claude.sessions"]) {
      const question = `SELECT count(*)::INTEGER AS n FROM ${table}`;
      expect((await connection.runAndReadAll(question)).getRows(), table).toEqual((await sql.run(question))[0]?.rows);
    }
    const path = root.replaceAll("'", "''");
    const read = `SELECT (SELECT count(*) FROM read_conversations('${path}') WHERE message_type = 'started') AS started,
    (SELECT count(*) FROM read_plans('${path}')) AS plans, (SELECT count(*) FROM read_todos('${path}')) AS todos`;
    expect((await connection.runAndReadAll(read)).getRows()).toEqual([[0n, 2n, 1n]]);
  },
);

test("running the file of `skein sql init` fails with an explanation if the directory has no transcripts", async () => {
  await expect(stock(folder())).rejects.toThrow(/There is no transcript in .*skein sql init --root DIR/);
});

/** Turns numbers into text and JSON into values, so that answers of DuckDB's API and of Skein can be compared. */
function loose(value: Json | Value): Value {
  if (value === null) return null;
  if (typeof value !== "string") return JSON.stringify(value);
  if (!/^[[{]/.test(value)) return value.replace(/^(-?\d+\.\d*?)0+$/, "$1").replace(/\.$/, "");
  try {
    return JSON.stringify(JSON.parse(value));
  } catch {
    return value;
  }
}
