/** Queries over the sessions of all coding agents. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withSources } from "@skein/history";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentData } from "../../history/test/sources/agent-data.ts";
import { type Sql, createSql } from "../src/index.ts";

let sql: Sql;
const warnings: string[] = [];
let codex = "";
let folder = "";

async function rows(statement: string): Promise<readonly unknown[]> {
  const [answer] = await sql.run(statement);
  return (answer?.rows ?? []).map((row) =>
    Object.values(row as object).map((value) => (typeof value === "bigint" ? Number(value) : value)),
  );
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "skein-history-tables-"));
  const agents = (["codex", "opencode", "claude-desktop"] as const).map((agent) =>
    agentData(agent, join(folder, agent)),
  );
  codex = agents[0]?.roots[0] ?? "";
  const cacheFolder = join(folder, "cache");
  const claude = join(agents[2]?.folder ?? "", "home", ".claude");
  const { config } = await withSources({
    dataPath: [claude, ...agents.slice(0, 2).flatMap(({ roots }) => roots)],
    cacheFolder,
  });
  sql = await createSql({ roots: config.dataPath as readonly string[], onWarning: (text) => warnings.push(text) });
});
afterAll(() => {
  sql.close();
  rmSync(folder, { recursive: true, force: true });
});

test("the schema history has the calls and tokens of all coding agents, and the schema claude has only Claude Code's calls", async () => {
  const sums = "sum(input_tokens), sum(output_tokens), sum(cache_read_input_tokens), sum(cache_creation_input_tokens)";
  expect(await rows(`SELECT source, ${sums} FROM history.responses GROUP BY ALL ORDER BY source`)).toEqual([
    ["claude-code", 6, 20, 1000, 100],
    ["codex", 1800, 440, 2350, 100],
    ["opencode", 1870, 495, 7800, 1200],
  ]);
  expect(await rows("SELECT count(*) FROM claude.responses")).toEqual([[1]]);
  expect(await rows("SELECT session_id FROM claude.sessions")).toEqual([["66666666-6666-4666-8666-666666666666"]]);
  expect(await rows("SELECT source, count(*) FROM history.sessions GROUP BY ALL ORDER BY source")).toEqual([
    ["claude-code", 1],
    ["codex", 3],
    ["opencode", 3],
  ]);
});

test("calls, subagents and messages of other coding agents have Claude Code's columns", async () => {
  expect(
    await rows(
      "SELECT source, name, result FROM history.tool_calls WHERE source <> 'claude-code' AND name LIKE 'exec%' ORDER BY result",
    ),
  ).toEqual([
    ["codex", "exec_command", "12 passing\n"],
    ["codex", "exec_command", "a.ts\n"],
    ["codex", "exec_command", "test/a.ts:3"],
  ]);
  expect(await rows("SELECT agent_id, session_id, tool_use_id FROM history.agents WHERE source = 'opencode'")).toEqual([
    ["ses_b", "ses_a", "call_oa2"],
  ]);
  const prompts =
    "SELECT human_prompt FROM history.messages WHERE source = 'codex' AND human_prompt IS NOT NULL AND agent_id IS NULL ORDER BY 1";
  expect(await rows(prompts)).toEqual([["List files"], ["Match this picture"], ["Run the tests"]]);
});

test("a version or a branch that a coding agent does not record is NULL", async () => {
  const of = (table: string, column: string): string =>
    `SELECT count(*) FROM ${table} WHERE source IN ('codex', 'opencode') AND ${column} = ''`;
  for (const [table, column] of [
    ["history.messages", "version"],
    ["history.messages", "git_branch"],
    ["history.sessions", "version"],
    ["history.sessions", "git_branch"],
    [`read_conversations('${codex}')`, "git_branch"],
  ] as const)
    expect([table, column, await rows(of(table, column))]).toEqual([table, column, [[0]]]);
  const branches = "SELECT count(*) FROM history.messages WHERE source = 'opencode' AND git_branch IS NULL";
  expect(await rows(branches)).not.toEqual([[0]]);
});

test("the table functions accept a source, recognise a path, and warn about an unknown name", async () => {
  const count = (call: string): Promise<readonly unknown[]> =>
    rows(`SELECT DISTINCT source FROM read_conversations(${call})`);
  expect(await count(`'${codex}', source := 'codex'`)).toEqual([["codex"]]);
  expect(await count(`'${codex}'`)).toEqual([["codex"]]);
  expect(warnings).toEqual([]);
  expect(await count(`'${codex}', source := 'codecks'`)).toEqual([["codex"]]);
  expect(warnings.join()).toMatch(/no source 'codecks'.*claude, claude-desktop.*codex/);
  expect(await count(`'${codex}', source := 'claude'`)).toEqual([]);
  const tokens = `SELECT sum(reasoning_tokens) FROM read_conversations('${codex}') WHERE message_type = 'assistant'`;
  expect(await rows(tokens)).toEqual([[105]]);
  warnings.length = 0;
  const odd = join(folder, "odd");
  mkdirSync(odd);
  for (const [path, text] of [
    [odd, /does not look like the data of any coding agent.*Sources: claude, .*codex/],
    [join(folder, "none"), /nothing at .*none/],
  ] as const) {
    expect(await count(`'${path}'`)).toEqual([]);
    expect(warnings.splice(0).join()).toMatch(text);
  }
});

test("the sum of many calls has the usual prices, and a single call with the same tokens has the prices of a long context", async () => {
  const root = join(folder, "copilot");
  const cost = async (name: string, shutdown: object): Promise<unknown> => {
    const session = join(root, name, "session-state", "c0000000-0000-4000-8000-00000000000f");
    mkdirSync(session, { recursive: true });
    const at = { timestamp: "2026-10-04T08:00:00.000Z" };
    const answer = {
      messageId: "m1",
      content: "Done",
      toolRequests: [],
      outputTokens: 100_000,
      model: "claude-sonnet-4.5",
    };
    const events = [
      { type: "session.start", id: "e1", data: { context: { cwd: "/srv/demo" } }, ...at },
      { type: "assistant.message", id: "e2", data: answer, ...at },
      shutdown,
    ];
    writeFileSync(join(session, "events.jsonl"), events.map((event) => `${JSON.stringify(event)}\n`).join(""));
    const span = {
      spanId: "s1",
      endTime: [1_791_100_800, 0],
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": "c0000000-0000-4000-8000-00000000000f",
        "gen_ai.usage.input_tokens": 400_000,
        "gen_ai.usage.output_tokens": 100_000,
        "gen_ai.response.model": "claude-sonnet-4.5",
      },
    };
    mkdirSync(join(root, name, "otel"));
    writeFileSync(join(root, name, "otel", "spans.jsonl"), `${JSON.stringify(span)}\n`);
    const { config } = await withSources({
      dataPath: join(root, name),
      sources: ["copilot"],
      cacheFolder: join(root, name, "cache"),
    });
    const own = await createSql({ roots: config.dataPath as readonly string[] });
    const [result] = await own.run("SELECT round(sum(cost_usd), 6)::DOUBLE AS usd FROM history.responses");
    own.close();
    return Object.values(result?.rows[0] as object)[0];
  };
  const used = { inputTokens: 400_000, outputTokens: 100_000, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const metrics = { "claude-sonnet-4.5": { usage: used } };
  const at = { timestamp: "2026-10-04T08:00:01.000Z" };
  expect(await cost("sum", { type: "session.shutdown", id: "e3", data: { modelMetrics: metrics }, ...at })).toBe(2.7);
  expect(await cost("single", { type: "abort", id: "e3", data: {}, ...at })).toBe(4.65);
});
