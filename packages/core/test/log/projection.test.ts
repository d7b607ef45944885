import { type Event, type Fact, createIds } from "@skein/protocol";
import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../src/memory-store/memory-store.ts";
import { type SessionTables, applyChanges, checkChanges } from "../../src/memory-store/memory-tables.ts";
import { rowsOf } from "../../src/log/message-rows.ts";
import { platformStatus } from "../../src/sessions/platform-status.ts";
import { displayText } from "../../src/log/display-text.ts";
import { project } from "../../src/log/projection.ts";
import { createScript } from "../../src/testing/script.ts";

/**
 * A log with two turns, and a third run with an await, a file, a checkpoint and two tool results that come in two
 * appends.
 */
async function longLog(): Promise<readonly Event[]> {
  const store = createMemoryStore({ now: () => 1_767_787_200_000 });
  const ids = createIds();
  const script = createScript({ store, ids });
  await script.create({ title: "t", tags: ["a"] });
  await script.toolTurn("first");
  await script.toolTurn("second");
  const { messageId, runId } = await script.prompt("third");
  const lease = await script.claim();
  const [replyId, resultsId] = [ids(), ids()];
  const step = { run_id: runId, step: 1 };
  const calls = ["t1", "t2"].map((id) => ({ type: "tool_use", id, name: "bash", input: {} }));
  const entered = (message_id: string, rows: number, role: "user" | "assistant"): Fact => ({
    event_type: "message.created",
    data: {
      ...step,
      message_id,
      role,
      rows,
      transformation_type: "message_added",
      messages_before_count: 0,
      messages_after_count: 1,
      tokens_before: 0,
      tokens_after: 1,
    },
  });
  const completed = (tool_use_id: string, part: number): Fact => ({
    event_type: "tool.completed",
    data: {
      ...step,
      tool_use_id,
      name: "bash",
      input: {},
      outcome: "committed",
      content: tool_use_id,
      is_error: false,
      message_id: resultsId,
      part,
      duration_ms: 1,
    },
  });
  const file = { ...step, file_id: "f", filename: "f.png", storage_path: "/f", size: 1, mime_type: "image/png" };
  const opened = { kind: "question" as const, name: "ask", input: {}, expires_at: null, session_id: null };
  const facts: readonly Fact[] = [
    {
      event_type: "session.started",
      data: { run_id: runId, message_id: messageId, user_message: "third", formatter: "json" },
    },
    entered(messageId, 1, "user"),
    {
      event_type: "step.generated",
      data: {
        ...step,
        purpose: "step",
        message_id: replyId,
        results_message_id: resultsId,
        content: calls,
        model: "m",
        stop_reason: "tool_use",
        usage: { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 3 },
        cost: null,
        container_id: "container_1",
        duration_ms: 1,
      },
    },
    entered(replyId, 2, "assistant"),
    { event_type: "await.opened", data: { ...step, awaits: [{ ...opened, tool_use_id: "t1" }] } },
    completed("t2", 1),
    { event_type: "await.resolved", data: { ...step, tool_use_id: "t1", resolution: "answered", waited_ms: 1 } },
    completed("t1", 0),
    entered(resultsId, 2, "user"),
    { event_type: "file.stored", data: { ...file, duration_ms: 1 } },
    {
      event_type: "checkpoint.created",
      data: { checkpoint_id: ids(), user_message_uuid: "u", files_modified: ["/a"] },
    },
    {
      event_type: "step.abandoned",
      data: { ...step, model: "m", usage: { input_tokens: 1, output_tokens: 1 }, cost: null },
    },
    {
      event_type: "session.failed",
      data: {
        ...step,
        outcome: "failed",
        stop_reason: "error",
        error: { code: "e", message: "e" },
        usage: { input_tokens: 2, output_tokens: 3, cache_creation_input_tokens: 0, cache_read_input_tokens: 3 },
        cost_micros: 0,
        unpriced_calls: 2,
        files_generated: 1,
        duration_ms: 1,
      },
    },
  ];
  for (const fact of facts) await script.append([fact], { lease });
  return store.read(script.sessionId);
}

/** Returns the rows of a log that arrived in several appends. `cuts` are the places at which an append ends. */
function tablesOf(events: readonly Event[], cuts: readonly number[]): SessionTables | undefined {
  let tables: SessionTables | undefined;
  let start = 0;
  for (const end of [...cuts, events.length]) {
    if (end > start) tables = applyChanges(tables, project(events.slice(start, end)));
    start = end;
  }
  return tables;
}

/** Sorts the rows, because stores insert rows in different orders. */
const comparable = (tables: SessionTables | undefined) => ({
  ...tables,
  messages: tables?.messages.toSorted((a, b) => (a.number ?? 0) - (b.number ?? 0)),
  waiting: [...(tables?.waiting ?? [])],
});

describe("the rows of a session do not depend on how its log was divided into appends", () => {
  test("one append, one append per event, and any two appends give the same rows", async () => {
    const events = await longLog();
    const whole = comparable(tablesOf(events, []));
    expect(whole.messages?.map(({ number }) => number)).toEqual(Array.from({ length: 15 }, (_, i) => i + 1));
    const each = events.map((_, index) => index);
    expect(comparable(tablesOf(events, each))).toEqual(whole);
    for (const cut of each) expect(comparable(tablesOf(events, [cut]))).toEqual(whole);
  });

  test("a hundred random cuts give the same rows", async () => {
    const events = await longLog();
    const whole = comparable(tablesOf(events, []));
    let seed = 42;
    const random = (): number => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
    for (let i = 0; i < 100; i++) {
      const cuts = events.map((_, index) => index).filter(() => random() < 0.3);
      expect(comparable(tablesOf(events, cuts)), `cuts ${cuts.join(" ")}`).toEqual(whole);
    }
  });

  test("projecting the same events gives the same changes and does not change the events", async () => {
    const events = await longLog();
    const before = JSON.stringify(events);
    expect(project(events)).toEqual(project(events));
    expect(JSON.stringify(events)).toBe(before);
  });
});

test("money and usage are added once per model call, with or without a price", async () => {
  const tables = tablesOf(await longLog(), []);
  expect(tables?.session).toMatchObject({
    cost_micros: 4 * 26_070,
    unpriced_calls: 2,
    total_turns: 3,
    total_runs: 3,
    usage: { input_tokens: 4 * 1900 + 2, output_tokens: 4 * 1300 + 3 },
    last_known_input_tokens: 1,
    container_id: "container_1",
  });
});

test("two checkpoints for one user message are rejected, even inside one append", async () => {
  const events = await longLog();
  const checkpoint = events.filter(({ event_type }) => event_type === "checkpoint.created");
  const refused = /already a checkpoint/;
  expect(() => checkChanges(tablesOf(events, []), project(checkpoint))).toThrow(refused);
  expect(() => checkChanges(undefined, project([...checkpoint, ...checkpoint]))).toThrow(refused);
});

const id = "01890000-0000-7000-8000-00000000000a";
describe("the rows of a message", () => {
  const call = { type: "tool_use", id: "t", name: "bash", input: { a: 1 } };
  const callRow = ["tool_call", { id: "t", name: "bash", arguments: { a: 1 } }, "t"];
  test.each([
    ["text", "hi", [["user", { text: "hi" }, null]]],
    ["no text at all", [], [["user", { text: "" }, null]]],
    ["a call without text, which has no text row", [call], [callRow]],
    ["text and a call", [{ type: "text", text: "hi" }, call], [["user", { text: "hi" }, null], callRow]],
    ["an image, which has an empty text row", [{ type: "image", source: {} }], [["user", { text: "" }, null]]],
    [
      "a result",
      [{ type: "tool_result", tool_use_id: "t", content: "4" }],
      [["tool_result", { result: "4", error: null }, "t"]],
    ],
    [
      "a result that is the JSON of an object",
      [{ type: "tool_result", tool_use_id: "t", content: '{"sum":3}' }],
      [["tool_result", { result: { sum: 3 }, error: null }, "t"]],
    ],
    [
      "a result whose JSON would be written differently",
      [{ type: "tool_result", tool_use_id: "t", content: '{ "big": 12345678901234567890 }' }],
      [["tool_result", { result: '{ "big": 12345678901234567890 }', error: null }, "t"]],
    ],
    [
      "a result that only begins like JSON",
      [{ type: "tool_result", tool_use_id: "t", content: "[note] done" }],
      [["tool_result", { result: "[note] done", error: null }, "t"]],
    ],
    [
      "a result that is an error",
      [{ type: "tool_result", tool_use_id: "t", content: "no", is_error: true }],
      [["tool_result", { result: null, error: "no" }, "t"]],
    ],
    [
      "a server tool and its result",
      [
        { type: "server_tool_use", id: "s", name: "web_search", input: {} },
        { type: "web_search_tool_result", tool_use_id: "s", content: [] },
      ],
      [
        ["tool_call", { id: "s", name: "web_search", arguments: {} }, "s"],
        ["tool_result", { result: [], error: null }, "s"],
      ],
    ],
  ])("the rows of a message: %s", (_, content, expected) => {
    const rows = rowsOf(id, "user", content);
    expect(rows.map(({ role, content: shown, toolCallId }) => [role, shown, toolCallId])).toEqual(expected);
    expect(rows.map(({ part }) => part)).toEqual(rows.map((__, index) => index));
    expect(rows[0]?.id).toBe(id);
  });
});

test.each([
  ["idle", null, "pending"],
  ["running", null, "running"],
  ["running", "completed", "running"],
  ["awaiting", "failed", "running"],
  ["idle", "completed", "completed"],
  ["idle", "failed", "failed"],
  ["idle", "cancelled", "failed"],
] as const)("a session that is %s with outcome %s is %s in the platform API", (status, outcome, expected) => {
  expect(platformStatus({ status, outcome })).toBe(expected);
});

test("text for a column has no NUL and no half of a surrogate pair", () => {
  expect(displayText("a\0b\ud800c😀")).toBe("a\uFFFDb\uFFFDc😀");
});
