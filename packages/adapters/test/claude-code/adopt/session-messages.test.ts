/**
 * The session_messages of a Claude Code session have the same rows over HTTP, in PostgreSQL, in sqlite and in Skein's
 * SQL. The API's stream can be rebuilt from these rows.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createPostgresStore } from "@skein/adapters/stores/postgres";
import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import { type Store, claudeAgent, messageCreated, stepAbandoned } from "@skein/core";
import {
  ClaudeOptions,
  type Fact,
  type JsonObject,
  type SessionMessage,
  blocksOf,
  createFraming,
  createIds,
  createMessageRows,
  textOf,
} from "@skein/protocol";
import { createSql } from "@skein/sql";
import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { createDatabase } from "../../../../../scripts/postgres.ts";
import { type AdoptedRunDeps, beginRun } from "../../../src/runtimes/claude-code/adopt/adopted-run.ts";

const ids = createIds();
const usage = { input_tokens: 10, output_tokens: 5 };
const answer = (...content: { type: string; [key: string]: unknown }[]) => ({
  model: "claude-sonnet-4-5",
  content,
  stopReason: content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn",
  usage,
  cost: null,
});

/**
 * Returns the facts (events before they are stored) of a session that Claude Code runs. The first run calls a subagent,
 * compacts and answers, and the second run fails.
 */
function facts(): readonly Fact[] {
  const agent = claudeAgent(ClaudeOptions.parse({}));
  const written: Fact[] = [
    {
      event_type: "session.created",
      data: {
        tenant: "default",
        agent_id: agent.id,
        agent_version: agent.version,
        agent: agent.config,
        title: null,
        tags: [],
        model_id: null,
        working_directory: "/work",
        metadata: {},
        parent: null,
        subagent_of: null,
      },
    },
  ];
  const write = (...more: readonly Fact[]): void => void written.push(...more);
  const deps: AdoptedRunDeps = {
    ids,
    write: (_time, ...more) => write(...more),
    transcript: { messages: 0, tokens: 0 },
  };
  const run = beginRun({ content: "look around", messageId: ids(), time: 0 }, deps);
  write({
    event_type: "runtime.started",
    data: {
      run_id: run.id,
      info: {
        type: "system",
        model: "claude-sonnet-4-5",
        tools: ["Read", "Task"],
        cwd: "/work",
        mcp_servers: [
          { name: "a", status: "connected" },
          { name: "b", status: "failed", error: "It is away." },
          { name: "c", status: "pending" },
        ],
        plugins: [{ name: "p", path: "/srv/p" }],
        slash_commands: ["compact"],
        permissionMode: "default",
        apiKeySource: "ANTHROPIC_API_KEY",
      },
    },
  });
  write({
    event_type: "step.retried",
    data: {
      run_id: run.id,
      step: 1,
      attempt: 1,
      error: { code: "overloaded", message: "Busy.", status: 529 },
      delay_ms: 10,
    },
  });
  const call = { type: "tool_use", id: "toolu_1", name: "Task", input: { prompt: "look" } };
  run.answered(answer({ type: "text", text: "I will." }, call), {
    messageId: ids(),
    resultsMessageId: ids(),
    time: 1,
  });
  const said = { run_id: run.id, parent_tool_use_id: "toolu_1" };
  write(
    {
      event_type: "subagent.messaged",
      data: { ...said, message_id: ids(), role: "user", content: "look", model: null, usage: null, cost: null },
    },
    {
      event_type: "subagent.messaged",
      data: {
        ...said,
        message_id: ids(),
        role: "assistant",
        content: [{ type: "text", text: "Seen." }],
        model: "claude-haiku-4-5",
        usage,
        cost: null,
      },
    },
  );
  run.resulted({ toolUseId: "toolu_1", content: "Seen.", isError: true, time: 2 });
  run.noticed({
    messageId: ids(),
    subtype: "compact_boundary",
    entry: { content: "Compacted.", trigger: "auto" },
    time: 2,
  });
  const interrupted = { message: { role: "user", content: [{ type: "text", text: "[Interrupted]" }] } };
  run.noticed({ messageId: ids(), subtype: "user_message", entry: interrupted, time: 2 });
  run.answered(answer({ type: "text", text: "All seen." }), { messageId: ids(), resultsMessageId: ids(), time: 3 });
  run.end(4);
  const second = beginRun({ content: "again", messageId: ids(), time: 5 }, deps);
  const half = [{ type: "text", text: "Half" }];
  const cutOff = { messageId: ids(), content: half };
  const lost = { model: "claude-sonnet-4-5", usage, estimated: true, simulated: true, answer: cutOff };
  const before = { messages: 5, tokens: 10 };
  const entered = {
    messageId: cutOff.messageId,
    role: "assistant",
    rows: 1,
    isResults: false,
    before,
    tokens: 0,
  } as const;
  const place = { runId: second.id, step: 1 };
  write(stepAbandoned(place, { ...lost, reason: "cancelled" }), messageCreated(place, entered));
  second.failed({ code: "model_error", message: "Overloaded.", status: 529 });
  second.end(6);
  const sdk = {
    type: "result",
    subtype: "success",
    num_turns: 3,
    structured_output: { colour: "blue" },
    permission_denials: [],
    modelUsage: { m: { inputTokens: 1 } },
    stop_reason: "end_turn",
  };
  const failed = written.findIndex(({ event_type }) => event_type === "session.failed");
  const failure = written[failed] as Extract<Fact, { event_type: "session.failed" }>;
  written[failed] = { ...failure, data: { ...failure.data, simulated: true } };
  const ended = written.findIndex(({ event_type }) => event_type === "session.completed");
  const { data } = written[ended] as Extract<Fact, { event_type: "session.completed" }>;
  written[ended] = { event_type: "session.completed", data: { ...data, result: sdk } };
  return written;
}

const FACTS = facts();

async function played(store: Store): Promise<string> {
  const sessionId = ids();
  await store.append(
    sessionId,
    FACTS.map((fact) => ({ ...fact, id: ids() })),
    { expect: 0 },
  );
  return sessionId;
}

interface Row {
  readonly message_type: string;
  readonly content: JsonObject;
}

/** A row, reduced to the fields that the stream has too. */
function brief({ message_type, content }: Row): readonly unknown[] {
  const inner = content["content"];
  const text = typeof inner === "string" || Array.isArray(inner) ? textOf(inner as never) : "";
  const calls = Array.isArray(inner)
    ? blocksOf(inner as never).flatMap((block) => (block.type === "text" ? [] : [block.type]))
    : [];
  const { error } = content as { readonly error?: { readonly message: string } | null };
  const told = message_type === "result" ? (content["result"] ?? error?.message ?? null) : text;
  return [message_type, content["subtype"] ?? null, told, calls, content["parent_tool_use_id"] ?? null];
}

const EXPECTED: readonly (readonly unknown[])[] = [
  ["user", null, "look around", [], null],
  ["system", "init", "", [], null],
  ["system", "api_retry", "", [], null],
  ["assistant", null, "I will.", ["tool_use"], null],
  ["user", null, "look", [], "toolu_1"],
  ["assistant", null, "Seen.", [], "toolu_1"],
  ["user", null, "", ["tool_result"], null],
  ["system", "compact_boundary", "Compacted.", [], null],
  ["system", "user_message", "[Interrupted]", [], null],
  ["assistant", null, "All seen.", [], null],
  ["result", "success", "All seen.", [], null],
  ["user", null, "again", [], null],
  ["assistant", null, "Half", [], null],
  ["result", "error", "Overloaded.", [], null],
];

/** The rows as `GET /api/v1/sessions/{session_id}/messages` returns them. */
async function rowsOf(store: Store, sessionId: string): Promise<readonly SessionMessage[]> {
  const rowOf = createMessageRows();
  return (await store.read(sessionId)).flatMap((event) => rowOf(event) ?? []);
}

test("the session messages in PostgreSQL are in the order of the log, and equal the messages of the API's stream", async () => {
  const server = inject("postgres");
  const database = await createDatabase(server.url, { template: server.template });
  onTestFinished(() => database.drop());
  const store = await createPostgresStore({ url: database.url });
  onTestFinished(() => store.close());
  const sessionId = await played(store);
  const client = new pg.Client(database.url);
  await client.connect();
  const { rows } = await client.query<Row>(
    "select * from api.session_messages where session_id = $1 order by sequence",
    [sessionId],
  );
  await client.end();
  expect(rows.map(brief)).toEqual(EXPECTED);
  const at = (row: Row & { created_at?: unknown }): unknown => ({
    ...row,
    created_at: new Date(row.created_at as string),
  });
  expect(rows.map(at)).toEqual((await rowsOf(store, sessionId)).map(at));
  expect(rows[10]?.content).toMatchObject({ is_error: false, stop_reason: "completed", error: null });
  expect(rows[13]?.content).toMatchObject({
    is_error: true,
    simulated: true,
    error: { code: "model_error", status: 529 },
  });

  // The API's stream of the same log, which begins with init.
  const framing = createFraming({
    sessionId,
    model: "m",
    tools: [],
    announces: true,
    contents: new Map(),
    costBefore: 0n,
  });
  const frames = (await store.read(sessionId)).flatMap((event) => framing(event));
  const streamed = frames.flatMap(({ event, data }) => {
    if (event === "init") return [["init", ""]];
    if (event === "message") return [[data.type, textOf(data.content)]];
    if (event === "result") return [["result", ""]];
    return [];
  });
  expect(streamed).toEqual(replayed(rows));
});

/** Rebuilds the stream of a session from its rows. */
function replayed(rows: readonly Row[]): readonly (readonly unknown[])[] {
  const told = rows.map((row): readonly unknown[] => {
    const [type, subtype, text] = brief(row);
    if (subtype === "init") return ["init", ""];
    return type === "result" ? ["result", ""] : [type, text];
  });
  const init = ["init", ""];
  const others = told.filter(([type]) => type !== "init");
  // Each run begins with init, even a run whose runtime never started.
  return [init, ...others.flatMap((one) => (one[1] === "again" ? [init, one] : [one]))];
}

test("the view in sqlite and Skein's SQL over a store return the same session messages", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-messages-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const store = await createSqliteStore({ file: join(folder, "skein.db") });
  onTestFinished(() => store.close());
  const sessionId = await played(store);
  const views = new DatabaseSync(join(folder, "skein.db"), { readOnly: true });
  onTestFinished(() => views.close());
  const query = "select * from api_session_messages where session_id = ? order by sequence";
  const inView = views.prepare(query).all(sessionId) as unknown as (Row & { content: string })[];
  const parsed = inView.map((row) => ({ ...row, content: JSON.parse(row.content) as JsonObject }));
  expect(parsed.map(brief)).toEqual(EXPECTED);
  expect(parsed).toEqual(await rowsOf(store, sessionId));
  const sql = await createSql({ roots: [folder], store });
  onTestFinished(() => sql.close());
  const [asked] = await sql.run(
    `select id, message_type, content, sequence from api.session_messages where session_id = '${sessionId}' order by sequence`,
  );
  const inSql = asked?.rows.map(([id, message_type, content, sequence]) => ({
    id,
    message_type,
    content: (typeof content === "string" ? JSON.parse(content) : content) as JsonObject,
    sequence: Number(sequence),
  }));
  expect(inSql).toEqual(
    parsed.map(({ session_id: _session, created_at: _at, ...row }: Record<string, unknown>) => row),
  );
});
