/** Tests the rules for reading events and usage of GitHub Copilot CLI. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { sources } from "../../../src/sources/registry.ts";
import { callsIn, execute, folderWith, readAll, readOne, saidIn, threadOf, titleOf } from "./one-source.ts";

afterEach(() => void vi.unstubAllEnvs());

const ID = "c0000000-0000-4000-8000-00000000000f";
const PLACE = `session-state/${ID}/events.jsonl`;

let events = 0;
const event = (type: string, data: object, more: object = {}): object => {
  events += 1;
  return {
    type,
    data,
    id: `e${events}`,
    timestamp: new Date(Date.UTC(2026, 9, 4, 8, 0, events % 60)).toISOString(),
    ...more,
  };
};
const start = (): object =>
  event("session.start", {
    sessionId: ID,
    selectedModel: "first-model",
    context: { cwd: "/srv/demo", branch: "main" },
  });
const user = (content: string, more: object = {}): object => event("user.message", { content, ...more });
const answer = (messageId: string, outputTokens: number, data: object = {}, more: object = {}): object =>
  event("assistant.message", { messageId, content: messageId, toolRequests: [], outputTokens, ...data }, more);
const shutdown = (input: number, output: number, cacheRead = 0): object =>
  event("session.shutdown", {
    modelMetrics: {
      m: { usage: { inputTokens: input, outputTokens: output, cacheReadTokens: cacheRead, cacheWriteTokens: 0 } },
    },
  });
const ROWS = `CREATE TABLE assistant_usage_events (id INTEGER PRIMARY KEY, session_id TEXT, model TEXT, input_tokens INTEGER, output_tokens INTEGER, created_at TEXT);
  INSERT INTO assistant_usage_events VALUES (1, '${ID}', 'row-model', 100, 10, '2026-10-04T08:00:03.000Z');`;
const sums = (...lines: readonly object[]) =>
  callsIn("copilot", [readOne("copilot", { [PLACE]: [start(), ...lines] })]).map(({ input, output }) => [
    input,
    output,
  ]);

test("Copilot: the sums that Copilot writes at its end include earlier starts, so the difference counts", () => {
  expect(sums(shutdown(100, 10), shutdown(250, 30))).toEqual([
    [100, 10],
    [150, 20],
  ]);
});

test("Copilot: before 1.0.80 each start of the program has a separate sum, even if the sum is larger than before", () => {
  const by = (copilotVersion: string): object => event("session.start", { sessionId: ID, copilotVersion });
  expect(sums(by("1.0.79"), shutdown(100, 10), shutdown(250, 30))).toEqual([
    [100, 10],
    [250, 30],
  ]);
  expect(sums(by("1.0.80"), shutdown(100, 10), shutdown(250, 30))).toEqual([
    [100, 10],
    [150, 20],
  ]);
  const later = event("session.resume", { copilotVersion: "1.1.0" });
  expect(sums(by("0.9.99"), shutdown(100, 10), later, shutdown(250, 30)).at(-1)).toEqual([150, 20]);
});

test("Copilot: endings for routes and efforts are removed from the name of a model", () => {
  const used = { inputTokens: 100, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const metrics = Object.fromEntries(
    ["claude-opus-4.7-1m-internal", "claude-opus-4.6-xhigh", "gpt-5.4-high", "claude-sonnet-4.5"].map((name) => [
      name,
      { usage: used },
    ]),
  );
  const session = readOne("copilot", { [PLACE]: [start(), event("session.shutdown", { modelMetrics: metrics })] });
  expect(callsIn("copilot", [session]).map(({ model }) => model)).toEqual([
    "claude-opus-4.7",
    "claude-opus-4.6",
    "gpt-5.4",
    "claude-sonnet-4.5",
  ]);
});

test("Copilot: the output includes thoughts, and thoughts of Gemini's models are added", () => {
  const used = { inputTokens: 100, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 7 };
  const metrics = { "gpt-5.2": { usage: used }, "gemini-3-pro": { usage: used } };
  const session = readOne("copilot", { [PLACE]: [start(), event("session.shutdown", { modelMetrics: metrics })] });
  expect(callsIn("copilot", [session])).toMatchObject([
    { model: "gpt-5.2", output: 10, reasoning: 7 },
    { model: "gemini-3-pro", output: 17, reasoning: 7 },
  ]);
});

test("Copilot: every call of `units` reports an unreadable database, and the rows of the database count when it is readable again", () => {
  const folder = folderWith({ [PLACE]: [start(), answer("a1", 10)], "session-store.db": ROWS });
  const path = join(folder, "session-store.db");
  const whole = readFileSync(path);
  writeFileSync(path, "not a database".repeat(500));
  const source = sources.find(({ name }) => name === "copilot");
  for (const _call of [1, 2]) expect(source?.units(folder).problems).toMatchObject([{ path }]);
  writeFileSync(path, whole);
  expect(source?.units(folder).problems).toEqual([]);
  expect(callsIn("copilot", readAll("copilot", folder))).toMatchObject([{ input: 100, output: 10 }]);
});

test("Copilot: a database without Copilot's tables is reported, and an older database without calls is accepted", () => {
  const source = sources.find(({ name }) => name === "copilot");
  const problemsWith = (sql: string) =>
    source?.units(folderWith({ [PLACE]: [start()], "session-store.db": sql })).problems.map(({ message }) => message);
  expect(problemsWith("CREATE TABLE turns (id INTEGER, session_id TEXT)")).toEqual([]);
  expect(problemsWith("CREATE TABLE other (id INTEGER)")).toEqual([expect.stringContaining("does not know")]);
  expect(problemsWith("CREATE TABLE assistant_usage_events (number INTEGER)")).toHaveLength(1);
});

test("Copilot: sums count from 0 after a compaction, or if a counter is smaller than before", () => {
  expect(sums(shutdown(100, 10), shutdown(250, 5))).toEqual([
    [100, 10],
    [250, 5],
  ]);
  const compacted = event("session.compaction_complete", { success: true, summaryContent: "s" });
  expect(sums(shutdown(100, 10), compacted, shutdown(250, 30))).toEqual([
    [100, 10],
    [250, 30],
  ]);
});

test("Copilot: if the database has rows, sums do not count, and each row has its time and model", () => {
  const session = readOne("copilot", {
    [PLACE]: [start(), answer("a1", 10), shutdown(500, 50)],
    "session-store.db": ROWS,
  });
  expect(callsIn("copilot", [session])).toMatchObject([{ input: 100, output: 10, model: "row-model" }]);
  const alone = readOne("copilot", { [PLACE]: [start()], "session-store.db": ROWS });
  expect(callsIn("copilot", [alone])).toMatchObject([{ at: "2026-10-04T08:00:03.000Z", model: "row-model" }]);
});

test("Copilot: without rows, sums and spans, a model call has the output of its event, and its input is unknown", () => {
  expect(sums(answer("a1", 25), answer("a1", 25))).toEqual([[null, 25]]);
});

const span = (spanId: string, more: object = {}): object => ({
  spanId,
  endTime: [1_768_471_203, 5e8],
  attributes: {
    "gen_ai.operation.name": "chat",
    "gen_ai.conversation.id": ID,
    "gen_ai.response.id": "r1",
    "gen_ai.usage.input_tokens": 90,
    "gen_ai.usage.output_tokens": 9,
    ...more,
  },
});

test("Copilot: a span that was exported twice is one model call, and the file with spans may be in any folder", () => {
  const elsewhere = folderWith({ "spans.jsonl": [span("s1"), span("s2")] });
  vi.stubEnv("COPILOT_OTEL_FILE_EXPORTER_PATH", join(elsewhere, "spans.jsonl"));
  const calls = callsIn("copilot", [readOne("copilot", { [PLACE]: [start()] })]);
  expect(calls).toMatchObject([{ input: 90, output: 9, at: "2026-01-15T10:00:03.500Z" }]);
});

test("Copilot: after a rewind the conversation continues from the event to which it was rewound", () => {
  const first = user("first");
  const rewind = event("session.snapshot_rewind", { upToEventId: (first as { id: string }).id });
  const session = readOne("copilot", {
    [PLACE]: [start(), first, answer("one", 1), user("second"), rewind, user("third")],
  });
  expect(threadOf(session)).toEqual(["first", "third"]);
});

test("Copilot: messages of a subagent are not active, whether its id is in the event or in the data of the event", () => {
  const session = readOne("copilot", {
    [PLACE]: [
      start(),
      user("q"),
      answer("inner", 1, {}, { agentId: "agent-1" }),
      answer("other", 1, { parentToolCallId: "t1" }),
      answer("outer", 1),
    ],
  });
  expect(threadOf(session)).toEqual(["q", "outer"]);
  const side = session.lines.filter(({ isSidechain }) => isSidechain === true);
  expect(side.map((line) => [saidIn(line), line["agentId"]])).toEqual([
    ["inner", "agent-1"],
    ["other", "t1"],
  ]);
});

test("Copilot: a failed tool call, the text of a skill, a model change and a title are read", () => {
  const session = readOne("copilot", {
    [PLACE]: [
      start(),
      user("from a skill", { source: "skill-review" }),
      event("session.model_change", { newModel: "second-model" }),
      answer("a1", 1),
      event("tool.execution_complete", { toolCallId: "t1", success: false, error: { message: "not found" } }),
      event("session.title_changed", { title: "Told later" }),
    ],
  });
  expect(threadOf(session)).toEqual(["meta: from a skill", "a1", "failed: not found"]);
  expect(callsIn("copilot", [session]).map(({ model }) => model)).toEqual(["second-model"]);
  expect(titleOf(session)).toBe("Told later");
});

test("Copilot: a folder without events does not hide the older file of a session", () => {
  const session = readOne("copilot", {
    [`session-state/${ID}.jsonl`]: [start(), user("old")],
    [`session-state/${ID}/workspace.yaml`]: 'name: "Named"\n',
  });
  expect(threadOf(session)).toEqual(["old"]);
});

test("Copilot: the folder of a session replaces an older file, and a new title or a new row counts as a change", () => {
  const folder = folderWith({
    [PLACE]: [start(), user("new")],
    [`session-state/${ID}.jsonl`]: [start(), user("old")],
    [`session-state/${ID}/workspace.yaml`]: 'name: "Named"\n',
  });
  const [before, ...others] = readAll("copilot", folder);
  expect(others).toEqual([]);
  expect(before && [threadOf(before), titleOf(before)]).toEqual([["new"], "Named"]);
  folderWith({ [`session-state/${ID}/workspace.yaml`]: "name: Renamed\n" }, folder);
  const [named] = readAll("copilot", folder);
  expect(named?.unit.stamp).not.toBe(before?.unit.stamp);
  execute(join(folder, "session-store.db"), ROWS);
  expect(readAll("copilot", folder)[0]?.unit.stamp).not.toBe(named?.unit.stamp);
});

test("Copilot: a session is read from its events, or from the database if it has no events", () => {
  const other = "c0000000-0000-4000-8000-00000000000e";
  const folder = folderWith({
    [PLACE]: [start(), user("from the events"), answer("m1", 10)],
    "session-store.db": `${ROWS}
      CREATE TABLE sessions (id TEXT PRIMARY KEY, cwd TEXT, branch TEXT, summary TEXT, updated_at TEXT);
      CREATE TABLE turns (id INTEGER PRIMARY KEY, session_id TEXT, turn_index INTEGER, user_message TEXT, assistant_response TEXT, timestamp TEXT);
      INSERT INTO sessions VALUES ('${ID}', '/srv/demo', 'main', 'Both', '2026-10-04 08:00:00'), ('${other}', NULL, '', 'Only here', '2026-10-05 08:00:00'),
        ('c0000000-0000-4000-8000-00000000000d', '/srv/demo', 'main', 'No turn', '2026-10-06 08:00:00');
      INSERT INTO turns VALUES (1, '${ID}', 0, 'from the turns', 'x', '2026-10-04 08:00:00'), (2, '${other}', 0, 'hello', 'hi', '2026-10-05 08:00:00'),
        (3, '${other}', 1, 'stopped', NULL, '2026-10-05 08:00:01');
      INSERT INTO assistant_usage_events VALUES (2, '${other}', 'm', 20, 2, '2026-10-05T08:00:00.000Z'), (3, '${other}', 'm', 30, 3, '2026-10-05T08:00:00.500Z');`,
  });
  const reads = readAll("copilot", folder);
  expect(reads.map((read) => [read.id, titleOf(read), threadOf(read)])).toEqual([
    [other, "Only here", ["hello", "hi", "stopped"]],
    [ID, undefined, ["from the events", "m1"]],
  ]);
  expect(reads[0]?.lines[0]).toMatchObject({ timestamp: "2026-10-05T08:00:00.000Z", from: "turns/2" });
  expect(callsIn("copilot", reads).map(({ input, output }) => [input, output])).toEqual([
    [20, 2],
    [30, 3],
    [100, 10],
  ]);
  const stampOf = (id: string) => readAll("copilot", folder).find((read) => read.id === id)?.unit.stamp;
  const before = stampOf(other);
  execute(join(folder, "session-store.db"), "UPDATE turns SET assistant_response = 'done' WHERE id = 3");
  expect(stampOf(other)).not.toBe(before);
});
