import { type Event, type Fact, createIds } from "@skein/protocol";
import { expect, test } from "vitest";
import { type SeenRun, type WatchedRun, createMemoryStore, createSessions, watchRun } from "../../src/index.ts";
import { createScript } from "../../src/testing/index.ts";

/** Creates a session whose first run has called a frontend tool and waits for its result. */
async function waiting() {
  const ids = createIds();
  const store = createMemoryStore();
  const sessions = createSessions({ store, ids });
  const script = createScript({ store, ids });
  await script.create();
  const { runId, messageId } = await script.prompt("Ask me.");
  const lease = await script.claim();
  const [replyId, resultsId] = [ids(), ids()];
  const call = { type: "tool_use", id: "toolu_1", name: "ask", input: {} };
  const entered = (run_id: string, message_id: string, role: "user" | "assistant"): Fact => ({
    event_type: "message.created",
    data: {
      run_id,
      message_id,
      role,
      step: 1,
      rows: 1,
      transformation_type: `${role}_message_added` as const,
      messages_before_count: 0,
      messages_after_count: 1,
      tokens_before: 0,
      tokens_after: 1,
    },
  });
  const started = (run_id: string, message_id: string): Fact => ({
    event_type: "session.started",
    data: { run_id, message_id, user_message: "", formatter: "json" },
  });
  await script.append(
    [
      started(runId, messageId),
      entered(runId, messageId, "user"),
      {
        event_type: "step.generated",
        data: {
          run_id: runId,
          step: 1,
          purpose: "step",
          message_id: replyId,
          results_message_id: resultsId,
          content: [call],
          model: "claude-sonnet-4-5",
          stop_reason: "tool_use",
          cost: null,
          container_id: null,
          usage: { input_tokens: 1, output_tokens: 1 },
          duration_ms: 1,
        },
      },
      entered(runId, replyId, "assistant"),
      {
        event_type: "await.opened",
        data: {
          run_id: runId,
          step: 1,
          awaits: [
            {
              tool_use_id: "toolu_1",
              kind: "frontend_tool",
              name: "ask",
              input: {},
              expires_at: null,
              session_id: null,
            },
          ],
        },
      },
    ],
    { lease },
  );
  const failed = (run_id: string): Fact => ({
    event_type: "session.failed",
    data: {
      run_id,
      step: 1,
      outcome: "failed",
      stop_reason: "error",
      error: { code: "error", message: "No." },
      cost_micros: 0,
      unpriced_calls: 0,
      files_generated: 0,
      duration_ms: 1,
      usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
    },
  });
  /** Watches a run to its end, or until the signal aborts. */
  async function watch(
    run: Partial<WatchedRun> & Pick<WatchedRun, "stopsAtWait">,
    { signal, onEvent }: { signal?: AbortSignal; onEvent?: (event: Event) => unknown } = {},
  ): Promise<SeenRun> {
    const watching = watchRun({ store, sessions }, { sessionId: script.sessionId, runId, after: 0, ...run });
    for await (const event of watching.events(signal)) await onEvent?.(event);
    return watching.seen();
  }
  return { ...script, store, sessions, lease, runId, watch, entered, started, failed };
}

test("a run that waits is reported as waiting, even if the log continues after the await", async () => {
  const { sessions, sessionId, runId, watch } = await waiting();
  await sessions.edit(sessionId, { title: "Later" });
  expect(await watch({ stopsAtWait: "run" })).toMatchObject({
    runId,
    ending: "waiting",
    awaiting: [{ tool_use_id: "toolu_1", kind: "frontend_tool" }],
  });
});

test("an await that was answered after it was read is not reported", async () => {
  const { append, lease, sessions, sessionId, runId, failed, watch } = await waiting();
  const seen = await watch(
    { stopsAtWait: "run" },
    {
      async onEvent({ event_type }) {
        if (event_type !== "await.opened") return;
        await sessions.answer(sessionId, "toolu_1", { content: "Yes." });
        await append([failed(runId)], { lease });
      },
    },
  );
  expect(seen).toMatchObject({ runId, ending: "failed", awaiting: [] });
});

test("a watcher that does not stop at awaits reads until the run is over", async () => {
  const { append, lease, runId, failed, watch } = await waiting();
  const seen = watch({ stopsAtWait: "never" });
  await append([failed(runId)], { lease });
  expect(await seen).toMatchObject({ runId, ending: "failed" });
});

test("the watcher of a queued run reports an await of the earlier run, if it stops at every await of the session", async () => {
  const { runId, prompt, watch } = await waiting();
  const behind = await prompt("And then?");
  expect(await watch({ runId: behind.runId, stopsAtWait: "session" })).toMatchObject({ runId, ending: "waiting" });
  const stop = new AbortController();
  const seen = await watch(
    { runId: behind.runId, stopsAtWait: "run" },
    {
      signal: stop.signal,
      onEvent: ({ event_type, data }) =>
        event_type === "prompt.accepted" && data.run_id === behind.runId && setTimeout(() => stop.abort(), 50),
    },
  );
  expect(seen).toEqual({ runId: behind.runId, ending: "stopped", awaiting: [] });
});

test("if another run reads a prompt, the prompt's watcher follows that run, or is told that the prompt's run never starts", async () => {
  const { append, lease, runId, prompt, entered, failed, watch } = await waiting();
  const steering = await prompt("Rather this.");
  await append([entered(runId, steering.messageId, "user"), failed(runId)], { lease });
  const run = { runId: steering.runId, stopsAtWait: "never" as const };
  expect(await watch({ ...run, followsPrompt: true })).toMatchObject({ runId, ending: "failed" });
  expect(await watch(run)).toMatchObject({ runId: steering.runId, ending: "never-started" });
  // A watcher that begins after the prompt was accepted needs the id of the prompt's message.
  expect(await watch({ ...run, after: 8, messageId: steering.messageId })).toMatchObject({ ending: "never-started" });
});

test("a run that is cancelled in the queue never starts", async () => {
  const { sessions, sessionId, prompt, watch } = await waiting();
  const { runId } = await prompt("And then?");
  await sessions.cancel(sessionId, { runId });
  expect(await watch({ runId, stopsAtWait: "run" })).toEqual({ runId, ending: "never-started", awaiting: [] });
});

test("a signal cancels the run, and the watcher reads the run to its end", async () => {
  const { append, lease, sessions, sessionId, runId, failed, watch } = await waiting();
  const cancelled = async ({ event_type }: Event): Promise<unknown> =>
    event_type === "cancel.requested" && append([failed(runId)], { lease });
  const seen = await watch({ stopsAtWait: "run", cancelOn: AbortSignal.abort() }, { onEvent: cancelled });
  expect(seen).toMatchObject({ runId, ending: "failed" });
  const events = await sessions.events(sessionId);
  expect(events.find(({ event_type }) => event_type === "cancel.requested")?.data).toMatchObject({ run_id: runId });
});

test("the deletion of the session ends the watching", async () => {
  const { sessions, sessionId, watch } = await waiting();
  const onEvent = ({ event_type }: Event): unknown => event_type === "await.opened" && sessions.delete(sessionId);
  expect(await watch({ stopsAtWait: "never" }, { onEvent })).toMatchObject({ ending: "log-ended" });
});
