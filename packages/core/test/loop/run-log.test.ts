import { createAnthropicModel } from "@skein/adapters/models/anthropic";
import { callAt } from "../../src/loop/request.ts";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ACTION_TYPES, type Event } from "@skein/protocol";
import { createSimulator } from "@skein/simulator";
import pg from "pg";
import { type AgentResult, createAgent, defineTool } from "skein";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createDatabase } from "../../../../scripts/postgres.ts";
import { scripted } from "./simulated.ts";
import { folder } from "./world.ts";

/** A row as a store shows it to people. */
interface Shown {
  readonly action_type: string;
  readonly action_data: Record<string, unknown>;
  readonly step_number: number;
  readonly messages_count: number | null;
  readonly estimated_tokens: number | null;
  readonly duration_ms: number | null;
}

const work = defineTool({
  name: "work",
  description: "Works, or does not.",
  input: z.object({ fail: z.boolean().optional() }),
  run: ({ fail }) => {
    if (fail) throw new Error("The tool is broken.");
    return "Worked. ".repeat(400);
  },
});
const confirm = defineTool({
  name: "user_confirm",
  description: "Asks the browser.",
  input: z.object({ message: z.string() }),
  executor: "frontend",
});
const lostFile = [
  { type: "server_tool_use", id: "srvtoolu_1", name: "bash_code_execution", input: { command: "x" } },
  {
    type: "bash_code_execution_tool_result",
    tool_use_id: "srvtoolu_1",
    content: {
      type: "bash_code_execution_result",
      stdout: "",
      stderr: "",
      return_code: 0,
      content: [{ type: "bash_code_execution_output", file_id: "file_gone" }],
    },
  },
  { type: "text", text: "It is right, but the file is lost." },
];

/** Creates runs in which every action of the agent tables happens. */
async function eventfulSession(store: string) {
  const simulator = await createSimulator();
  onTestFinished(() => simulator.close());
  const agent = createAgent({
    apiKey: "test",
    baseUrl: simulator.url,
    store,
    files: folder(),
    tools: [work, confirm],
    server_tools: [{ type: "code_execution_20250825", name: "code_execution" }],
    memory_store_type: "placeholder",
    compactor_type: "tool_result_removal",
    compaction_threshold: 1500,
    max_steps: 4,
    base_delay: 0.01,
    formatter: "xml",
    validate: (answer) => (answer.includes("right") ? undefined : "It must be right."),
  });
  const calls = (...inputs: object[]) => inputs.map((input) => ({ name: "work", input: { ...input } }));
  const first = await agent.run(
    scripted("Everything", [
      { text: "Working", tools: calls({}, { fail: true }), error: { status: 500, times: 1 } },
      { code: { command: "plot", files: [{ name: "chart.png", content: "PNG" }] }, text: "Wrong" },
      { text: "It is right" },
    ]),
  );
  const { sessionId } = first;
  const run = (name: string, steps: Parameters<typeof scripted>[1]) => agent.run(scripted(name, steps), { sessionId });
  const endless = await run("Endless", [{ tools: calls({}) }]);
  const refused = await run("Refused", [{ error: { status: 400, type: "invalid_request_error" } }]);
  const lost = await run("Lost", [{ blocks: lostFile }]);
  await run("Confirm", [
    { tools: [{ name: "user_confirm", input: { message: "Sure?" }, id: "toolu_confirm" }] },
    { text: "All right" },
  ]);
  const answered = await agent.answer(sessionId, [{ toolUseId: "toolu_confirm", content: "yes" }]);
  const events = await (await agent.sessions()).events(sessionId);
  await agent.close();
  return { results: [first, endless, refused, lost, answered] as AgentResult[], sessionId, events, simulator };
}

async function sqliteRows(file: string, sessionId: string): Promise<Shown[]> {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare("select * from agent_runs where agent_uuid = ? order by log_id").all(sessionId);
  database.close();
  return rows.map((row) => ({ ...row, action_data: JSON.parse(String(row["action_data"])) as object }) as Shown);
}

async function postgresRows(url: string, sessionId: string): Promise<Shown[]> {
  const client = new pg.Client(url);
  await client.connect();
  const query = "select * from agent.agent_runs where agent_uuid = $1 order by log_id";
  const { rows } = await client.query<Shown>(query, [sessionId]);
  await client.end();
  return rows;
}

async function fileRows(place: string, sessionId: string): Promise<Shown[]> {
  const runs = join(place, "agent_runs", sessionId);
  const names = (await readdir(runs)).filter((name) => name.endsWith(".jsonl")).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(runs, name), "utf8")));
  return texts.flatMap((text) =>
    text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Shown),
  );
}

async function opened(kind: string): Promise<{ url: string; rows?: (sessionId: string) => Promise<Shown[]> }> {
  if (kind === "sqlite") {
    const file = join(folder(), "skein.db");
    return { url: `sqlite:${file}`, rows: (id) => sqliteRows(file, id) };
  }
  if (kind === "filesystem") {
    const place = join(folder(), "data");
    return { url: `file:${place}`, rows: (id) => fileRows(place, id) };
  }
  if (kind === "memory") return { url: "memory:" };
  const server = inject("postgres");
  const database = await createDatabase(server.url, { template: server.template });
  onTestFinished(() => database.drop());
  return { url: database.url, rows: (id) => postgresRows(database.url, id) };
}

/**
 * The examples of the specification, by action: the keys of the data, and the figures of the row (messages, tokens,
 * duration).
 */
const EXAMPLES: Readonly<Record<string, readonly [keys: string, figures: string]>> = {
  run_started: ["user_message queue_present formatter", ""],
  memory_retrieval: ["memories_found memories_injected memory_store_type", "messages tokens duration"],
  compaction: ["compaction_applied reason current_tokens threshold", "messages tokens duration"],
  api_call_started: ["model max_tokens thinking_tokens tools_count", "messages tokens"],
  api_response_received: ["stop_reason usage content", "duration"],
  tool_execution: ["tool_name tool_use_id input result execution_time_ms", "duration"],
  context_transformation: [
    "transformation_type messages_before_count messages_after_count tokens_before tokens_after",
    "messages tokens",
  ],
  run_completed: [
    "stop_reason total_steps final_response total_input_tokens total_output_tokens files_generated",
    "duration",
  ],
};

describe.each(["memory", "sqlite", "filesystem", "postgres"])("the run log on %s", (kind) => {
  test("every action type of the specification is in the run log, its data have the keys of the specified example, and the store shows the same rows", async () => {
    const { url, rows } = await opened(kind);
    const { results, sessionId } = await eventfulSession(url);
    expect(results.map(({ stopReason }) => stopReason)).toEqual([
      "end_turn",
      "max_steps",
      "error",
      "end_turn",
      "end_turn",
    ]);
    const logs = results.flatMap(({ agentLogs }) => agentLogs);
    const produced = new Set<string>(logs.map(({ actionType }) => actionType));
    expect([...ACTION_TYPES].filter((action) => !produced.has(action))).toEqual([]);
    for (const [action, [keys, figures]] of Object.entries(EXAMPLES)) {
      const row = logs.find(({ actionType }) => actionType === action);
      expect(Object.keys(row?.actionData ?? {}), action).toEqual(expect.arrayContaining(keys.split(" ")));
      const { messagesCount, estimatedTokens, durationMs } = row ?? {};
      if (figures.includes("messages")) expect(messagesCount, action).toBeGreaterThan(0);
      if (figures.includes("tokens")) expect(estimatedTokens, action).toBeGreaterThanOrEqual(0);
      if (figures.includes("duration")) expect(durationMs, action).toBeGreaterThanOrEqual(0);
    }
    if (!rows) return;
    const shown = await rows(sessionId);
    const brief = (row: Shown) => [
      row.action_type,
      row.step_number,
      row.messages_count ?? null,
      row.duration_ms ?? null,
    ];
    const expected = logs.map((row) => [row.actionType, row.stepNumber, row.messagesCount, row.durationMs]);
    expect(shown.map(brief)).toEqual(expected);
    for (const [index, { action_type, action_data }] of shown.entries()) {
      const { messages_sent: sent, ...data } = action_data;
      // `messages_sent` repeats the whole history in every step, so it would make files grow quadratically. The
      // filesystem store leaves `messages_sent` out, and `callAt` computes it.
      if (action_type === "api_call_started" && kind !== "filesystem")
        expect(sent, "messages_sent").toBeInstanceOf(Array);
      expect(data, action_type).toEqual(logs[index]?.actionData);
    }
  });
});

test("every failure adds an error row, which the query of the specification finds", async () => {
  const file = join(folder(), "skein.db");
  const { sessionId } = await eventfulSession(`sqlite:${file}`);
  const database = new DatabaseSync(file, { readOnly: true });
  const pattern5 = `SELECT agent_uuid, run_id, timestamp, action_data FROM agent_runs
    WHERE action_type = 'error' ORDER BY timestamp DESC LIMIT 50`;
  const found = database.prepare(pattern5).all();
  database.close();
  expect(new Set(found.map((row) => row["agent_uuid"]))).toEqual(new Set([sessionId]));
  const texts = found.map((row) => String(row["action_data"])).join("\n");
  for (const problem of ["The tool is broken.", "invalid_request_error", "file_gone"]) expect(texts).toContain(problem);
});

test("the request of a step that is computed from the log equals the request that was sent", async () => {
  const { sessionId, events, simulator } = await eventfulSession("memory:");
  const calls = simulator.ledger.calls({ kind: "messages" });
  const starts = events.filter(({ event_type }: Event) => event_type === "step.started");
  expect(starts).toHaveLength(calls.length);
  const model = createAnthropicModel({ apiKey: "none" });
  for (const [index, { sequence }] of starts.entries()) {
    const { stream: _, ...body } = (calls[index]?.request ?? {}) as Record<string, unknown>;
    const call = callAt(sessionId, events, sequence);
    expect(call && model.prepare(call).body).toEqual(body);
  }
});
