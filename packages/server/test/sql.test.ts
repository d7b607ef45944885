import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createMemoryLive, createMemoryStore } from "@skein/core";
import { createKeys, createServer } from "@skein/server";
import { createTenantSql } from "@skein/sql/sandbox";
import { openStore } from "skein";
import { describe, expect, onTestFinished, test } from "vitest";
import { caller, folder, say, session, settled, testServer } from "./world.ts";
import { hasBubblewrap } from "../../sql/test/bubblewrap.ts";

/** Starts a server with a time limit for statements that is long enough for a busy machine. */
const roomyServer = (options: Parameters<typeof testServer>[0] = {}) =>
  testServer({ ...options, limits: { statementMs: 60_000, ...options.limits } });

type Line = { columns?: object[]; row?: Record<string, unknown>; end?: object; error?: { code: string } };

/** Sends a statement and returns the lines of the answer. */
async function ask(url: string, key: string, sql: string, more: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`${url}/v1/sql`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json", ...more },
    body: JSON.stringify({ sql }),
  });
  const { status, headers } = response;
  const bytes = Buffer.from(await response.arrayBuffer());
  const isText = headers.get("content-type")?.includes("json") ?? false;
  const lines = isText ? bytes.toString().split("\n") : [];
  return {
    status,
    headers,
    bytes,
    lines: lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Line),
  };
}

async function rows(url: string, key: string, sql: string): Promise<readonly unknown[]> {
  const { lines } = await ask(url, key, sql);
  expect(lines.at(-1), JSON.stringify(lines.at(-1))).toHaveProperty("end");
  return lines.flatMap(({ row }) => (row ? [row] : []));
}

describe.skipIf(!hasBubblewrap)("where there is a sandbox", { timeout: 120_000 }, () => {
  test("the tables are described with their columns, and an example runs", async () => {
    const { url, key, call } = await roomyServer();
    const { status, body } = await call("GET", "/v1/sql/schema");
    expect(status).toBe(200);
    const sessions = body.data.find(({ name }) => name === "platform.sessions");
    expect(sessions).toMatchObject({
      about: expect.stringContaining("sessions"),
      columns: expect.arrayContaining([{ name: "id", type: "VARCHAR", about: expect.any(String) }]),
    });
    expect(body.data.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["all_sessions", "claude.responses", "agent.agent_runs"]),
    );
    const examples = (await call("GET", "/v1/sql/examples")).body.data;
    expect(examples.length).toBeGreaterThan(5);
    const [{ question, sql } = {}] = examples;
    expect(question).toMatch(/\?/);
    await rows(url, key, String(sql));
  });

  test("a tenant sees only its rows, in their current state", async () => {
    const data = folder();
    const { url, key, call } = await roomyServer({ store: `sqlite:${data}/skein.db` });
    const other = await openStore(`sqlite:${data}/skein.db`);
    onTestFinished(() => other.close());
    const stranger = await createKeys({ records: other.records }).make({
      name: "stranger",
      tenant: "theirs",
      scopes: ["sql", "admin"],
    });
    const mine = await session(call, { name: "Mine" });
    await say(call, mine.path, "A secret of mine.");
    await settled(call, mine.path);
    const theirs = await session(caller(url, stranger), { name: "Theirs" });

    const everything = "SELECT id FROM platform.sessions ORDER BY 1";
    expect(await rows(url, key, everything)).toEqual([{ id: mine.id }]);
    expect(await rows(url, stranger, everything)).toEqual([{ id: theirs.id }]);
    for (const table of ["platform.messages", "platform.events", "agent.conversation_history", "api.sessions"]) {
      expect(JSON.stringify(await rows(url, key, `FROM ${table}`)), table).toContain(mine.id);
      expect(JSON.stringify(await rows(url, stranger, `FROM ${table}`)), table).not.toMatch(
        new RegExp(`${mine.id}|secret of mine`),
      );
    }
    expect(await rows(url, key, "SELECT name FROM platform.agents")).toEqual([{ name: "Mine" }]);
    expect(await rows(url, key, "SELECT DISTINCT source FROM all_sessions")).toEqual([{ source: "skein" }]);
    expect(await rows(url, key, "SELECT count(*) AS n FROM claude.messages")).toEqual([{ n: 0 }]);

    // A log has the same events over HTTP and in SQL, even right after a change.
    for (const run of [2, 3]) {
      await say(call, mine.path, "And another.");
      const log = async () => (await call("GET", `${mine.path}/events?limit=200`)).body.data;
      await expect
        .poll(async () => (await log()).filter(({ event_type }) => event_type === "session.completed").length, {
          timeout: 60_000,
        })
        .toBe(run);
      const events = `SELECT sequence, event_type FROM platform.events WHERE session_id = '${mine.id}' ORDER BY 1`;
      expect(await rows(url, key, events)).toEqual(
        (await log()).map(({ sequence, event_type }) => ({ sequence, event_type })),
      );
    }
    const raw =
      "SELECT count(*) AS n FROM read_blob('/data/rows.duckdb') WHERE contains(content::VARCHAR, 'secret of mine')";
    expect(await rows(url, key, raw)).toEqual([{ n: 1 }]);
    await call("DELETE", mine.path);
    expect(await rows(url, key, raw)).toEqual([{ n: 0 }]);
    for (const table of ["platform.sessions", "platform.events", "platform.messages", "agent.conversation_history"])
      expect(await rows(url, key, `FROM ${table}`), table).toEqual([]);
  });

  test("only admins of the default tenant can query Claude Code's files, if the operator allows it", async () => {
    const root = folder();
    const file = join(root, "projects/-work-app/11111111-1111-4111-8111-111111111111.jsonl");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(
      file,
      `${JSON.stringify({ type: "user", uuid: "u1", message: { role: "user", content: "Mine." } })}\n`,
    );
    const data = folder();
    const store = `sqlite:${data}/skein.db`;
    const { url, key, call } = await roomyServer({ store, sqlHistory: [root] });
    const other = await openStore(store);
    onTestFinished(() => other.close());
    const keys = createKeys({ records: other.records });
    const analyst = await keys.make({ name: "analyst", tenant: "default", scopes: ["sql", "run"] });
    const stranger = await keys.make({ name: "stranger", tenant: "theirs", scopes: ["admin"] });
    const { id } = await session(call);
    const question = "SELECT content FROM claude_conversations";
    expect(await rows(url, key, question)).toEqual([{ content: "Mine." }]);
    expect(await rows(url, analyst, question)).toEqual([]);
    expect(await rows(url, stranger, question)).toEqual([]);
    // An answer without rows has a notice if the key may not read these tables.
    const notice = (asked: { lines: readonly object[] }) => (asked.lines[0] as { notice?: string }).notice;
    expect(notice(await ask(url, analyst, question))).toMatch(
      /are empty for this key: only admin keys of the tenant default/,
    );
    expect(notice(await ask(url, stranger, "SELECT * FROM history.sessions"))).toMatch(/empty for this key/);
    expect(notice(await ask(url, key, question))).toBeUndefined();
    expect(notice(await ask(url, analyst, "SELECT 'claude_conversations' AS x"))).toBeUndefined();
    expect(await rows(url, key, "SELECT source, session_id FROM all_sessions ORDER BY 1")).toEqual([
      { source: "claude-code", session_id: "11111111-1111-4111-8111-111111111111" },
      { source: "skein", session_id: id },
    ]);
    expect(await rows(url, analyst, "SELECT source FROM all_sessions")).toEqual([{ source: "skein" }]);
    for (const statement of [
      `SELECT * FROM read_text('${data}/admin-key')`,
      "SELECT * FROM read_text('/etc/passwd')",
      "SELECT * FROM glob('/**')",
      `COPY (SELECT 1) TO '${root}/x'`,
      "SET enable_external_access = true",
      "SELECT 1; SELECT 2",
      "CREATE TABLE t AS SELECT 1",
    ])
      expect([statement, (await ask(url, key, statement)).status]).toEqual([statement, 422]);
    expect(readdirSync(root)).toEqual(["projects"]);
  });

  test("the first line of an answer has the columns, each row is an object, and the last line says how the statement ended", async () => {
    const { url, key } = await roomyServer();
    const statement = `SELECT 1 AS a, 2 AS a, NULL AS nothing, '{"b": [1]}'::JSON AS json, 'line
break' AS text, 9007199254740993 AS large, 1.5::DECIMAL(9, 2) AS price, TIMESTAMP '2026-01-02 03:04:05' AS at, [1, 2] AS list, {'x': 1} AS "__proto__"`;
    const { status, lines } = await ask(url, key, statement);
    expect(status).toBe(200);
    expect(lines[0]?.columns).toContainEqual({ name: "json", type: "JSON" });
    expect(lines[1]).toEqual(
      JSON.parse(
        '{"row":{"a":1,"a:1":2,"nothing":null,"json":{"b":[1]},"text":"line\\nbreak","large":"9007199254740993","price":1.5,"at":"2026-01-02 03:04:05","list":[1,2],"__proto__":{"x":1}}}',
      ),
    );
    expect(lines.slice(2)).toEqual([{ end: { rows: 1, truncated: false } }]);
  });

  test("a response in Arrow is an Arrow stream; an error before the first row is a 422, and a later error breaks the stream off", async () => {
    const { url, key } = await roomyServer({ limits: { statementRows: 1e6, statementBytes: 1e8 } });
    const accept = "application/vnd.apache.arrow.stream, */*;q=0.1";
    const { status, headers, bytes } = await ask(url, key, "SELECT range FROM range(5)", { accept });
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/vnd.apache.arrow.stream");
    // The first bytes of an Arrow stream, and the mark at its end. packages/sql/test/sandbox.test.ts reads such a
    // stream.
    expect([...bytes.subarray(0, 4)]).toEqual([255, 255, 255, 255]);
    expect([...bytes.subarray(-8)]).toEqual([255, 255, 255, 255, 0, 0, 0, 0]);
    const wrong = await ask(url, key, "SELECT error('enough') FROM range(5)", { accept });
    expect(wrong).toMatchObject({ status: 422, lines: [{ error: { code: "statement_failed" } }] });
    const late = await fetch(`${url}/v1/sql`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json", accept },
      body: JSON.stringify({
        sql: "SELECT if(range = 250000, error('enough'), repeat('x', 100)) AS x FROM range(300000)",
      }),
    });
    expect(late.status).toBe(200);
    let read = 0;
    const reading = async (): Promise<void> => {
      for await (const piece of late.body ?? []) read += piece.length;
    };
    await expect(reading()).rejects.toThrow();
    expect(read).toBeGreaterThan(100_000);
  });

  test("a response is cut at the limit of rows or bytes, and a statement is rejected at the time limit", async () => {
    const few = await roomyServer({ limits: { statementRows: 3 } });
    const cut = await ask(few.url, few.key, "SELECT range FROM range(10)");
    expect(cut.lines.slice(1)).toEqual([
      { row: { range: 0 } },
      { row: { range: 1 } },
      { row: { range: 2 } },
      { end: { rows: 3, truncated: true } },
    ]);
    expect((await ask(few.url, few.key, "SELECT range FROM range(3)")).lines.at(-1)?.end).toMatchObject({
      truncated: false,
    });
    const hasty = await roomyServer({ limits: { statementMs: 1500 } });
    const late = await ask(hasty.url, hasty.key, "SELECT count(*) FROM range(100000000000) a, range(1000) b");
    expect([late.status, late.lines[0]?.error]).toMatchObject([
      422,
      { code: "over_limit", message: "The statement took longer than 1.5 s." },
    ]);
    const small = await roomyServer({ limits: { statementBytes: 10_000 } });
    const { lines } = await ask(small.url, small.key, "SELECT repeat('x', 1000) AS x FROM range(100)");
    expect(lines.at(-1)).toEqual({ end: { rows: 9, truncated: true } });
  });

  test("a statement that DuckDB rejects gets 422 with DuckDB's message, and a failure after the first rows is the last line of the response", async () => {
    const { url, key, call } = await roomyServer({ limits: { statementRows: 1e6, statementBytes: 1e8 } });
    const wrong = await ask(url, key, "SELECT * FROM platform.sesions");
    expect(wrong).toMatchObject({
      status: 422,
      lines: [
        { error: { code: "statement_failed", message: expect.stringMatching(/sesions does not exist[^]*LINE 1/) } },
      ],
    });
    const message = async (sql: string) =>
      ((await ask(url, key, sql)).lines[0]?.error as { message?: string } | undefined)?.message;
    expect(await message("SELEC 1")).toMatch(/^Parser Error: syntax error[^]*LINE 1: SELEC 1\n +\^/);
    await session(call);
    const pivot = await ask(url, key, "PIVOT (SELECT status FROM platform.sessions) ON status USING count(*)");
    expect(pivot.lines[1]?.row).toEqual({ pending: 1 });
    const { status, lines } = await ask(
      url,
      key,
      "SELECT if(range = 250000, error('enough'), repeat('x', 100)) AS x FROM range(300000)",
    );
    expect(status).toBe(200);
    expect(lines.length).toBeGreaterThan(2);
    expect(lines.at(-1)?.error).toMatchObject({ code: "statement_failed", message: expect.stringContaining("enough") });
  });

  test("a waiting statement starts when the caller of a running statement disconnects", async () => {
    const { url, key } = await roomyServer({ limits: { statements: 1, statementMs: 60_000 } });
    await ask(url, key, "SELECT 1");
    const leave = new AbortController();
    const slow = fetch(`${url}/v1/sql`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({ sql: "SELECT count(*) FROM range(100000000000) a, range(1000) b" }),
      signal: leave.signal,
    }).catch(() => undefined);
    const figure = async (state: string): Promise<number> => {
      const text = await (await fetch(`${url}/metrics`, { headers: { "x-api-key": key } })).text();
      return Number(new RegExp(`${state}\\{[^}]*"statements"[^}]*\\} (\\d+)`).exec(text)?.[1]);
    };
    await expect.poll(() => figure("taken")).toBe(1);
    const next = ask(url, key, "SELECT 1");
    await expect.poll(() => figure("waiting")).toBe(1);
    expect((await fetch(`${url}/health`)).status).toBe(200);
    leave.abort();
    await slow;
    expect((await next).status).toBe(200);
  });

  test.each([
    ["nothing", {}],
    ["an empty statement", { sql: "" }],
    ["a statement that is not a text", { sql: 1 }],
    ["a statement that is too long", { sql: `SELECT ${"1,".repeat(60_000)}1` }],
    ["an unknown field", { sql: "SELECT 1", tenant: "other" }],
  ])("a request body with %s gets 422", async (_, body) => {
    const { call } = await roomyServer();
    expect((await call("POST", "/v1/sql", body)).body.error.code).toBe("invalid");
  });

  test("an Idempotency-Key has no effect on a query", async () => {
    const { url, key, call } = await roomyServer();
    const count = async () =>
      (await ask(url, key, "SELECT count(*) AS n FROM platform.sessions", { "idempotency-key": "k" })).lines[1];
    expect(await count()).toEqual({ row: { n: 0 } });
    await session(call);
    expect(await count()).toEqual({ row: { n: 1 } });
  });
});

test.each([
  ["missing", () => folder(), /bubblewrap, which is not on this machine/],
  [
    "installed but not working",
    () => {
      const commands = join(folder(), "bin");
      mkdirSync(commands);
      writeFileSync(
        join(commands, "bwrap"),
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n",
        {
          mode: 0o755,
        },
      );
      symlinkSync("/usr/bin/prlimit", join(commands, "prlimit"));
      return commands;
    },
    /cannot be started: this system does not allow user namespaces\. Set user\.max_user_namespaces above 0/,
  ],
])("if bubblewrap is %s, an SQL statement gets 503 with the reason", async (_, commands, sentence) => {
  const store = createMemoryStore();
  const sql = createTenantSql({ store, folder: folder(), commandFolders: [commands()] });
  onTestFinished(() => sql.close());
  const logged: object[] = [];
  const server = await createServer({
    store,
    sql,
    live: createMemoryLive(),
    defaultModel: "claude-sonnet-5-5",
    description: { version: "0", store: "memory", model: "none" },
    log: (line) => logged.push(line),
    logRequests: false,
  });
  onTestFinished(() => server.close());
  const key = await createKeys({ records: store.records }).make({ name: "a", tenant: "default", scopes: ["sql"] });
  const answer = await server.inject({
    method: "POST",
    url: "/v1/sql",
    headers: { "x-api-key": key },
    payload: { sql: "SELECT 1" },
  });
  expect([answer.statusCode, answer.json<{ error: object }>().error]).toMatchObject([
    503,
    { code: "sandbox_missing", message: expect.stringMatching(sentence) },
  ]);
  expect(logged).toEqual([]);
});
