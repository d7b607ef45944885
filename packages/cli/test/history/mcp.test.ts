import { connectMcpServer, type McpConnection } from "@skein/adapters/mcp";
import { resultContent } from "@skein/core";
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import { createIds } from "@skein/protocol";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import type { TenantSql } from "@skein/sql/sandbox";
import { agentData } from "../../../history/test/sources/agent-data.ts";
import { hasBubblewrap } from "../../../sql/test/bubblewrap.ts";
import { playSessions } from "../../../skein/test/conformance/played-sessions.ts";
import { createHistoryServer } from "../../src/mcp/serve-history.ts";
import { bin, createWorld, first, second, type World } from "./world.ts";

/** Starts `skein mcp` like Claude Code, and connects the official MCP client to it. */
async function connected(
  world: World,
  env: Readonly<Record<string, string>> = {},
  more: readonly string[] = [],
): Promise<McpConnection> {
  const args = [
    "--conditions=@skein/source",
    "--disable-warning=ExperimentalWarning",
    bin,
    "mcp",
    "--root",
    world.root,
    ...more,
  ];
  const connection = await connectMcpServer({
    name: "history",
    command: process.execPath,
    args,
    env: { ...world.env, ...env },
  });
  onTestFinished(() => connection.close());
  return connection;
}

async function call(connection: McpConnection, tool: string, input: object): Promise<{ text: string }> {
  const found = connection.tools.find(({ name }) => name === `mcp__history__${tool}`);
  if (!found) throw new Error(`no tool ${tool}`);
  const { signal } = new AbortController();
  const context = { sessionId: "s", runId: "r", toolUseId: "t", idempotencyKey: "k", workingDirectory: null, signal };
  const result = await found.run(found.parse(input), context);
  return { text: JSON.stringify(resultContent(result)) };
}

test("a client sees five tools that only read, and finds, outlines and reads a session", async () => {
  const connection = await connected(createWorld());
  expect(connection.tools.map(({ name }) => name).sort()).toEqual([
    "mcp__history__history_outline",
    "mcp__history__history_read",
    "mcp__history__history_search",
    "mcp__history__history_sessions",
    "mcp__history__sql",
  ]);
  expect((await call(connection, "history_sessions", {})).text).toMatch(new RegExp(`${first}.+${second}`));
  const found = await call(connection, "history_search", { query: "flaky parser", role: "human" });
  expect(found.text).toContain(`session ${first} line 1`);
  const outline = await call(connection, "history_outline", { session: first.slice(0, 8) });
  expect(outline.text).toContain("line 1: please fix the flaky parser test");
  expect(outline.text).toContain("tools: Bash ×1");
  const read = await call(connection, "history_read", { session: first, fromLine: 7 });
  expect(read.text).toContain("do it another way");
  expect(read.text).not.toContain("flaky");
  expect(read.text).toContain("(end)");
});

test("each session is shown with its agent; the model and the person can each select the sessions of one agent", async () => {
  const world = createWorld();
  const id = "0198c0de-1234-7abc-8000-0000000000ab";
  const line = (type: string, payload: object): string =>
    `${JSON.stringify({ timestamp: "2026-08-20T10:00:00.000Z", type, payload })}\n`;
  const content = [{ type: "input_text", text: "Why is the parser slow?" }];
  world.write(
    `../codex/sessions/2026/08/20/rollout-2026-08-20T10-00-00-${id}.jsonl`,
    line("session_meta", { id, cwd: "/srv/demo" }) + line("response_item", { type: "message", role: "user", content }),
  );
  const codex = ["--root", join(world.folder, "codex")];
  const both = await connected(world, {}, codex);
  const whole = (await call(both, "history_sessions", {})).text;
  expect(whole).toMatch(new RegExp(`${first}[^\\\\]+  Claude Code  .+${id}[^\\\\]+  Codex  1 messages  /srv/demo`));
  const chosen = (await call(both, "history_sessions", { source: "codex" })).text;
  expect([chosen.includes(id), chosen.includes(first)]).toEqual([true, false]);
  const found = (await call(both, "history_search", { query: "parser", source: "codex" })).text;
  expect(found).toContain(`[session ${id} line `);
  expect(found).toContain(" · Codex · ");
  expect(found).not.toContain(first);
  expect((await call(both, "history_outline", { session: id })).text).toContain("Codex, /srv/demo");
  for (const tool of ["history_outline", "history_read"])
    await expect(call(both, tool, { session: id, source: "claude-code" })).rejects.toThrow("There is no such session");
  const only = await connected(world, {}, [...codex, "--source", "codex"]);
  const listed = (await call(only, "history_sessions", {})).text;
  expect([listed.includes(id), listed.includes(first)]).toEqual([true, false]);
});

test("with a database as --root, history_read returns the task and the original rows of a subagent", async () => {
  const world = createWorld();
  const { folder } = agentData("opencode");
  const database = await connected(world, {}, ["--root", join(folder, "opencode.db")]);
  expect((await call(database, "history_sessions", { source: "opencode" })).text).toContain("Find the helpers");
  const task = (await call(database, "history_read", { session: "agent-ses_b" })).text;
  expect(task).toMatch(/\[task, line \d+\]\\nFind helpers/);
  const row = await call(database, "history_read", { session: "agent-ses_b", fromLine: 1, original: true });
  expect(row.text).toContain(`${join(folder, "opencode.db")}, message/msg_b1]`);
});

test("the first answer does not wait until the index is built", async () => {
  const world = createWorld();
  const index = join(world.env["SKEIN_CACHE_DIR"] ?? "", "history");
  const connection = await connected(world);
  expect(existsSync(index)).toBe(false);
  await call(connection, "history_outline", { session: first });
  await expect.poll(() => existsSync(index)).toBe(true);
});

test("answers are limited and say how to continue, and contain no control characters", async () => {
  const world = createWorld();
  const path = join(world.root, "projects/-work-app", `${first}.jsonl`);
  for (let n = 0; n < 300; n += 1) {
    const message = { role: "user", content: `${n} ${"needle ".repeat(200)}` };
    appendFileSync(
      path,
      `${JSON.stringify({ type: "user", uuid: `n${n}`, parentUuid: null, cwd: "/work/app", timestamp: "2026-11-02T10:00:00.000Z", message })}\n`,
    );
  }
  const connection = await connected(world);
  for (const [tool, input] of [
    ["history_read", { session: first, messages: 200, full: true }],
    ["history_search", { query: "needle", limit: 30 }],
    ["history_outline", { session: first }],
  ] as const) {
    const { text } = await call(connection, tool, input);
    expect(text.length).toBeLessThan(40_000);
    expect(text).toMatch(/more: fromLine \d+|offset \d+ gives|cut: ask for less/);
  }
  const { text } = await call(connection, "history_read", { session: first, messages: 2 });
  expect(JSON.parse(text)).toBeTruthy();
  expect(text).toContain(String.raw`\\x1b]52`);
});

test.skipIf(!hasBubblewrap)(
  "an SQL statement is answered from Claude Code's files and the store, in the sandbox",
  { timeout: 120_000 },
  async () => {
    const world = createWorld();
    const store = await createSqliteStore({ file: join(world.folder, "skein.db") });
    await playSessions(store, createIds());
    await store.close();
    const connection = await connected(world, { SKEIN_STORE_URL: `sqlite:${join(world.folder, "skein.db")}` });
    const ask = async (sql: string): Promise<string> => (await call(connection, "sql", { sql })).text;
    const cache = join(world.env["SKEIN_CACHE_DIR"] ?? "", "sql");
    const copies = (): readonly string[] =>
      existsSync(cache) ? readdirSync(cache).filter((name) => name.endsWith(".duckdb")) : [];
    // A statement without a table makes no copy of the data. The first statement about the files does not wait for the
    // copy.
    expect(await ask("SELECT 42 AS n")).toContain("42");
    expect(await ask(`SELECT count(*) > 0 AS found FROM claude.messages WHERE session_id = '${first}'`)).toContain(
      "true",
    );
    expect(copies()).toEqual([]);
    await expect.poll(copies).toHaveLength(1);
    const databases = await ask("PRAGMA database_list");
    expect(databases).toContain("skein_copy");
    expect(databases).not.toContain(world.folder);
    // Each statement starts a process. Three statements at the same time take less time.
    await Promise.all([
      expect(ask("SELECT DISTINCT source FROM all_sessions ORDER BY 1")).resolves.toMatch(
        /claude-code.+skein.+\(2 rows\)/,
      ),
      expect(ask("SELECT repeat('x', 900) AS x FROM range(5000)")).resolves.toMatch(/26 of more than 1000 rows/),
      expect(ask("DESCRIBE claude.responses")).resolves.toContain("cost_usd"),
    ]);
    await Promise.all([
      expect(ask("SELECT * FROM claude.mesages")).rejects.toThrow("LINE 1"),
      expect(ask("SELECT * FROM read_text('/etc/passwd')")).rejects.toThrow("disabled by configuration"),
      expect(ask("CREATE TABLE t AS SELECT 1")).rejects.toThrow("Only statements that read are allowed"),
    ]);
  },
);

test("a client that asks for progress gets a progress notification while a call runs", async () => {
  const { promise: heard, resolve: hear } = Promise.withResolvers<unknown>();
  const sql = {
    async *ask() {
      // The statement ends only after its progress was reported.
      await heard;
      yield { kind: "end", rows: 0, truncated: false } as const;
    },
  } as unknown as TenantSql;
  const [client, server] = InMemoryTransport.createLinkedPair();
  const { promise: answered, resolve: answer } = Promise.withResolvers<unknown>();
  // The transport has no events to listen to.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener
  client.onmessage = (message) => {
    if ("method" in message && message.method === "notifications/progress") hear(message.params);
    if ("id" in message && message.id === 2) answer(message);
  };
  await createHistoryServer({ version: "1", config: async () => ({}), sql: async () => sql }).connect(server);
  await client.start();
  const send = (id: number, method: string, params: Record<string, unknown>): Promise<void> =>
    client.send({ jsonrpc: "2.0", id, method, params });
  await send(1, "initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "t", version: "1" },
  });
  await send(2, "tools/call", { name: "sql", arguments: { sql: "SELECT 1" }, _meta: { progressToken: "p" } });
  expect(await heard).toMatchObject({ progressToken: "p", progress: 1 });
  expect(JSON.stringify(await answered)).toContain("(0 rows)");
  await client.close();
});

test("a missing session and an invalid pattern are answered with an error message", async () => {
  const connection = await connected(createWorld());
  // The client throws if the answer is an error.
  await expect(call(connection, "history_read", { session: "ffffffff" })).rejects.toThrow("no such session");
  await expect(call(connection, "history_search", { query: "/(a)\\1/" })).rejects.toThrow("pattern");
});

test("an unknown word after mcp gives exit code 2, and --help explains how to register the server", () => {
  const run = (...args: readonly string[]) =>
    spawnSync(process.execPath, [bin, "mcp", ...args], { encoding: "utf8", input: "" });
  expect(run("--help")).toMatchObject({ status: 0, stdout: expect.stringContaining("claude mcp add") as string });
  expect(run("now").status).toBe(2);
  expect(run()).toMatchObject({ status: 0, stdout: "" });
});
