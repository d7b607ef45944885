import { createMemoryLive, createMemoryStore, createSessions } from "@skein/core";
import { createScript } from "@skein/core/testing";
import { type Fact, type StreamEvent, createIds } from "@skein/protocol";
import { expect, test } from "vitest";
import { sendRun } from "../../../src/dialects/claude/run-frames.ts";

/** Starts a run whose first step has called a tool, with a reader of the run. */
async function followed() {
  const ids = createIds();
  const store = createMemoryStore();
  const live = createMemoryLive();
  const script = createScript({ store, ids });
  await script.create();
  const { runId: run_id, messageId: message_id } = await script.prompt("Go on");
  const lease = await script.claim();
  const [said, results] = [ids(), ids()];
  const inStep = { run_id, step: 1 };
  const counts = { messages_before_count: 0, messages_after_count: 1, tokens_before: 0, tokens_after: 1, rows: 1 };
  const entered = (id: string, type: "assistant_message_added" | "user_message_added" | "tool_result_added"): Fact => ({
    event_type: "message.created",
    data: {
      ...inStep,
      ...counts,
      message_id: id,
      role: type === "assistant_message_added" ? "assistant" : "user",
      transformation_type: type,
    },
  });
  await script.append(
    [
      { event_type: "session.started", data: { run_id, message_id, user_message: "Go on", formatter: "json" } },
      {
        event_type: "step.generated",
        data: {
          ...inStep,
          purpose: "step",
          message_id: said,
          results_message_id: results,
          content: [{ type: "tool_use", id: "t1", name: "add", input: {} }],
          model: "claude-sonnet-4-5",
          stop_reason: "tool_use",
          usage: { input_tokens: 1, output_tokens: 1 },
          cost: null,
          container_id: null,
          duration_ms: 1,
        },
      },
      entered(said, "assistant_message_added"),
    ],
    { lease },
  );
  const frames: StreamEvent[] = [];
  const stop = new AbortController();
  const sending = sendRun(
    {
      store,
      sessions: createSessions({ store }),
      live,
      run: { sessionId: script.sessionId, runId: run_id, from: 0, after: 0, partials: true },
    },
    {
      signal: stop.signal,
      frame: (frame) => frames.push(frame) > 0,
      partial: (frame) => void frames.push(frame),
    },
  );
  const piece = (step: number, messageId: string): void =>
    live.publish({
      session_id: script.sessionId,
      run_id,
      step,
      attempt: 1,
      message_id: messageId,
      offset: 0,
      event: { type: "content_block_stop", index: 0 },
      isUnannounced: true,
    });
  const order = (): readonly string[] =>
    frames.map(({ event, data }) => ("type" in data ? `${event} ${String(data.type)}` : event));
  const result: Fact = {
    event_type: "tool.completed",
    data: {
      ...inStep,
      tool_use_id: "t1",
      name: "add",
      input: {},
      outcome: "committed",
      content: "3",
      is_error: false,
      message_id: results,
      part: 0,
      duration_ms: 1,
    },
  };
  return {
    ids,
    said,
    piece,
    order,
    frames,
    /** Adds a prompt that belongs to another run and steers this run. */
    async steer(text: string) {
      const prompt = await script.prompt(text);
      await script.append([entered(prompt.messageId, "user_message_added")], { lease });
    },
    answerTool: () => script.append([result, entered(results, "tool_result_added")], { lease }),
    async end() {
      stop.abort();
      await sending;
    },
  };
}

test("a partial message is sent after all tool results that come before it", async () => {
  const { ids, piece, order, answerTool, end } = await followed();
  await expect.poll(order).toContain("message assistant");
  piece(2, ids());
  await answerTool();
  await expect.poll(order).toContain("partial content_block_stop");
  expect(order()).toEqual(["init", "message assistant", "message user", "partial content_block_stop"]);
  await end();
});

test("a partial message is not sent after its complete message", async () => {
  const { said, piece, order, answerTool, end } = await followed();
  await expect.poll(order).toContain("message assistant");
  piece(1, said);
  await answerTool();
  await expect.poll(order).toContain("message user");
  expect(order()).not.toContain("partial content_block_stop");
  await end();
});

test("a prompt that steers the run is sent with its text, although it was accepted for another run", async () => {
  const { frames, order, answerTool, steer, end } = await followed();
  await expect.poll(order).toContain("message assistant");
  await answerTool();
  await steer("Rather blue");
  await expect.poll(() => order().length).toBe(4);
  expect(order()).toEqual(["init", "message assistant", "message user", "message user"]);
  expect(JSON.stringify(frames.at(-1)?.data)).toContain("Rather blue");
  await end();
});

test("the result of a run has the cost of the session up to this run, even if more than 200 runs came later", async () => {
  const store = createMemoryStore();
  const { create, toolTurn, sessionId } = createScript({ store, ids: createIds() });
  await create();
  for (let n = 0; n < 203; n++) await toolTurn("Go on");
  const sessions = createSessions({ store });
  const { items } = await sessions.runs(sessionId, { limit: 203 });
  const totals: unknown[] = [];
  for (const run of [items[202], items[201], items[1], items[0]]) {
    const frames: StreamEvent[] = [];
    await sendRun(
      {
        store,
        sessions,
        live: createMemoryLive(),
        run: { sessionId, runId: run?.id ?? "", from: (run?.first_sequence ?? 0) - 1, after: 0, partials: false },
      },
      { signal: new AbortController().signal, frame: (frame) => frames.push(frame) > 0, partial: () => {} },
    );
    const result = frames.find(({ event }) => event === "result")?.data as Record<string, number>;
    totals.push(Math.round((result["session_total_cost_usd"] ?? 0) / (result["total_cost_usd"] ?? 0)));
  }
  expect(totals).toEqual([1, 2, 202, 203]);
});

test("a session that was deleted before its stream begins is reported as deleted", async () => {
  const ids = createIds();
  const store = createMemoryStore();
  const frames: StreamEvent[] = [];
  const isSent = await sendRun(
    {
      store,
      sessions: createSessions({ store }),
      live: createMemoryLive(),
      run: { sessionId: ids(), runId: ids(), from: 0, after: 0, partials: false },
    },
    {
      signal: new AbortController().signal,
      frame: (frame) => frames.push(frame) > 0,
      partial: () => {},
    },
  );
  expect(isSent).toBe(true);
  expect(frames).toMatchObject([
    { event: "init" },
    { event: "error", data: { code: "SESSION_NOT_FOUND" } },
    { event: "done" },
  ]);
});
