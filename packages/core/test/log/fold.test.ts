import type { Event, Fact, FactData, FactType } from "@skein/protocol";
import { createIds } from "@skein/protocol";
import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../src/memory-store/memory-store.ts";
import { FOLD_VERSION, fold, foldAll, restore, snapshotOf } from "../../src/log/fold.ts";
import { type SessionState, contextOf, emptyState, statusOf } from "../../src/log/state.ts";
import { createScript, scriptedAgent } from "../../src/testing/script.ts";

const at = "2026-01-07T12:00:00.000Z";
const session = "01890000-0000-7000-8000-000000000001";
const [run, message, reply, results, later] = ["a", "b", "c", "d", "e"].map(
  (digit) => `01890000-0000-7000-8000-00000000000${digit}`,
) as [string, string, string, string, string];
const inStep = { run_id: run, step: 1 };
const usage = { input_tokens: 10, output_tokens: 5 };
const counted = { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
const totals = { usage: counted, cost_micros: 0, unpriced_calls: 0, files_generated: 0, duration_ms: 1 };
const failure = { code: "api_error", message: "it broke" };
const rewind: Fact = {
  event_type: "rewind.requested",
  data: { rewind_id: later, checkpoint_id: later, user_message_uuid: message, dry_run: false },
};
const cost = {
  model: scriptedAgent.model,
  input_micros: 3,
  output_micros: 4,
  cache_write_micros: 0,
  cache_read_micros: 0,
  server_tool_micros: 0,
  total_micros: 7,
  long_context_applied: false,
};

const created: Fact = {
  event_type: "session.created",
  data: {
    tenant: "acme",
    agent_id: session,
    agent_version: 3,
    agent: scriptedAgent,
    title: "First",
    tags: ["a"],
    model_id: null,
    working_directory: "/w",
    metadata: { k: 1 },
    parent: null,
    subagent_of: null,
  },
};
const prompt = (messageId: string, runId: string, mode: "queue" | "steer" = "queue"): Fact => ({
  event_type: "prompt.accepted",
  data: { message_id: messageId, run_id: runId, mode, content: "hi", model: null, max_cost_micros: null },
});
const started: Fact = {
  event_type: "session.started",
  data: { run_id: run, message_id: message, user_message: "hi", formatter: "json" },
};
const entered = (messageId: string, role: "user" | "assistant" = "user"): Fact => ({
  event_type: "message.created",
  data: {
    message_id: messageId,
    run_id: run,
    step: 1,
    role,
    rows: 1,
    transformation_type: "message_added",
    messages_before_count: 0,
    messages_after_count: 1,
    tokens_before: 0,
    tokens_after: 1,
  },
});
const stepStarted: Fact = {
  event_type: "step.started",
  data: {
    ...inStep,
    attempt: 1,
    purpose: "step",
    model: "m",
    max_tokens: 1,
    thinking_tokens: 0,
    tools_count: 0,
    messages_count: 1,
    estimated_tokens: 1,
  },
};
const call = (id: string) => ({ type: "tool_use", id, name: "bash", input: { command: "ls" } });
const generated = (...ids: readonly string[]): Fact => ({
  event_type: "step.generated",
  data: {
    ...inStep,
    purpose: "step",
    message_id: reply,
    results_message_id: ids.length > 0 ? results : null,
    content: [{ type: "text", text: "ok" }, ...ids.map(call)],
    model: "m",
    stop_reason: ids.length > 0 ? "tool_use" : "end_turn",
    usage,
    cost,
    container_id: "container_1",
    duration_ms: 1,
  },
});
const toolStarted: Fact = {
  event_type: "tool.started",
  data: { ...inStep, tool_use_id: "t1", name: "bash", input: {}, policy: "once" },
};
const resolvedAs = (resolution: FactData<"await.resolved">["resolution"]): Fact => ({
  event_type: "await.resolved",
  data: { ...inStep, tool_use_id: "t1", resolution, waited_ms: 1 },
});
const toolCompleted: Fact = {
  event_type: "tool.completed",
  data: {
    ...inStep,
    tool_use_id: "t1",
    name: "bash",
    input: {},
    outcome: "failed",
    content: "no",
    is_error: true,
    message_id: results,
    part: 0,
    duration_ms: 1,
  },
};
const opened: Fact = {
  event_type: "await.opened",
  data: {
    ...inStep,
    awaits: [
      { tool_use_id: "t1", kind: "frontend_tool", name: "bash", input: {}, expires_at: at, session_id: null },
      { tool_use_id: "t9", kind: "frontend_tool", name: "unknown", input: {}, expires_at: null, session_id: null },
    ],
  },
};
const memory = { ...inStep, memory_store_type: "placeholder", duration_ms: 1 };
const file = { ...inStep, file_id: "file_1", filename: "chart.png" };
const stored: Fact = {
  event_type: "file.stored",
  data: { ...file, storage_path: "/f", size: 5, mime_type: "image/png", duration_ms: 1 },
};

const running = [created, prompt(message, run), started];
const asked = [...running, stepStarted, generated("t1", "t2")];
const completed: Fact = {
  event_type: "session.completed",
  data: { run_id: run, step: 1, stop_reason: "end_turn", final_response: "ok", ...totals },
};
const checked = (messages: { role: string; content: string }[] | null): Fact => ({
  event_type: "compaction.checked",
  data: {
    ...inStep,
    messages_count: 1,
    estimated_tokens: 1,
    duration_ms: 1,
    applied: messages !== null,
    reason: "below_threshold",
    compactor_type: "none",
    current_tokens: 1,
    threshold: 2,
    tokens_after: 1,
    messages,
  },
});

/** Returns facts as the events of one log. */
function log(facts: readonly Fact[], first = 1): Event[] {
  return facts.map((fact, index) => ({
    ...fact,
    id: session,
    session_id: session,
    sequence: first + index,
    created_at: at,
  }));
}

type Row = readonly [before: readonly Fact[], fact: Fact, after: Record<string, unknown>];

/** The effect of each fact on the state. The compiler reports a missing fact. */
const EFFECTS: Readonly<Record<FactType, Row>> = {
  "session.created": [[], created, { tenant: "acme", agentVersion: 3, title: "First", workingDirectory: "/w" }],
  "session.edited": [
    [created],
    { event_type: "session.edited", data: { title: null, tags: ["b"], metadata: { n: 2 } } },
    { title: null, tags: ["b"], metadata: { n: 2 }, modelId: null },
  ],
  "title.generated": [[created], { event_type: "title.generated", data: { title: "New" } }, { title: "New" }],
  "message.copied": [
    [created],
    { event_type: "message.copied", data: { message_id: message, role: "assistant", content: "old" } },
    { transcript: [{ id: message, role: "assistant", content: "old" }], usage: { input_tokens: 0 } },
  ],
  "prompt.accepted": [
    [created],
    prompt(message, run),
    { queue: [{ message_id: message }], pending: { [message]: { role: "user", content: "hi" } }, run: null },
  ],
  "cancel.requested": [
    running,
    { event_type: "cancel.requested", data: { run_id: run, reason: "enough" } },
    { run: { cancelRequested: true, cancelReason: "enough" } },
  ],
  "session.started": [
    [created, prompt(message, run)],
    started,
    { queue: [], runs: 1, run: { runId: run, startedAt: at, step: 0, prompt: { message_id: message } } },
  ],
  "run.resumed": [
    running,
    { event_type: "run.resumed", data: { run_id: run, fence: 7 } },
    { run: { fence: 7, resumesWithoutProgress: 1 } },
  ],
  "message.created": [
    running,
    entered(message),
    { transcript: [{ id: message, role: "user", content: "hi" }], pending: {} },
  ],
  "steps.exhausted": [
    running,
    { event_type: "steps.exhausted", data: { ...inStep, max_steps: 1 } },
    { run: { exhausted: true } },
  ],
  "session.completed": [running, completed, { run: null, outcome: "completed", runs: 1 }],
  "session.failed": [
    running,
    {
      event_type: "session.failed",
      data: { ...inStep, outcome: "cancelled", stop_reason: "cancelled", error: failure, ...totals },
    },
    { run: null, outcome: "cancelled" },
  ],
  "checkpoint.created": [
    running,
    {
      event_type: "checkpoint.created",
      data: { checkpoint_id: later, user_message_uuid: message, files_modified: ["/a"] },
    },
    { run: { step: 0 } },
  ],
  "control.requested": [
    [created],
    { event_type: "control.requested", data: { permission_mode: "plan", model: null } },
    { control: { permissionMode: "plan", model: null } },
  ],
  "rewind.requested": [[created], rewind, { rewinds: [{ rewind_id: later }] }],
  "rewind.completed": [
    [created, rewind],
    {
      event_type: "rewind.completed",
      data: {
        rewind_id: later,
        checkpoint_id: later,
        dry_run: false,
        files_changed: ["/a"],
        insertions: 1,
        deletions: 0,
        error: null,
      },
    },
    { rewinds: [] },
  ],
  "runtime.started": [
    running,
    { event_type: "runtime.started", data: { run_id: run, info: { tools: ["Bash"] } } },
    { run: { step: 0 } },
  ],
  "runtime.noticed": [
    running,
    {
      event_type: "runtime.noticed",
      data: { run_id: run, message_id: later, subtype: "compact_boundary", notice: {} },
    },
    { run: { step: 0 }, transcript: [] },
  ],
  "subagent.messaged": [
    running,
    {
      event_type: "subagent.messaged",
      data: {
        run_id: run,
        message_id: later,
        parent_tool_use_id: "t1",
        role: "assistant",
        content: "Hm.",
        model: "m",
        usage,
        cost,
      },
    },
    { usage: counted, costPicos: "7000000", transcript: [] },
  ],
  "hook.called": [
    running,
    {
      event_type: "hook.called",
      data: {
        run_id: run,
        hook_event: "PreToolUse",
        tool_use_id: "t1",
        tool_name: "Bash",
        decision: "deny",
        reason: "No.",
        modified_input: null,
        error: null,
        duration_ms: 1,
      },
    },
    { run: { step: 0 } },
  ],
  "transcript.appended": [
    [created],
    {
      event_type: "transcript.appended",
      data: { entries: [{ type: "user" }, { type: "assistant" }], subpath: null },
    },
    { transcriptEntries: 2, transcript: [] },
  ],
  "step.started": [running, stepStarted, { run: { step: 1, call: { model: "m" }, retryAt: null } }],
  "step.generated": [
    [...running, stepStarted],
    generated("t1"),
    {
      containerId: "container_1",
      usage: counted,
      costPicos: "7000000",
      unpricedCalls: 0,
      pending: { [reply]: { role: "assistant" } },
      run: {
        call: null,
        stopReason: "tool_use",
        resultsMessageId: results,
        calls: [{ toolUseId: "t1", phase: "asked" }],
      },
    },
  ],
  "step.retried": [
    [...running, stepStarted],
    { event_type: "step.retried", data: { ...inStep, attempt: 1, error: failure, delay_ms: 1000 } },
    { run: { call: null, attempts: 1, retryAt: "2026-01-07T12:00:01.000Z" } },
  ],
  "step.error": [
    [...running, stepStarted],
    { event_type: "step.error", data: { ...inStep, error: failure, duration_ms: 1 } },
    { run: { call: null, attempts: 0, failure } },
  ],
  "step.abandoned": [
    [...running, stepStarted],
    { event_type: "step.abandoned", data: { ...inStep, model: "m", usage, cost: null } },
    { usage: counted, unpricedCalls: 1, run: { call: null, usage: counted, unpricedCalls: 1 } },
  ],
  "tool.started": [
    asked,
    toolStarted,
    { run: { calls: [{ phase: "started", policy: "once", startedUnder: 0 }, { phase: "asked" }] } },
  ],
  "tool.completed": [
    [...asked, toolStarted],
    toolCompleted,
    { run: { calls: [{ phase: "done", result: { content: "no", isError: true } }, { phase: "asked" }] } },
  ],
  "await.opened": [asked, opened, { run: { calls: [{ phase: "waiting", expiresAt: at }, { phase: "asked" }] } }],
  "await.answered": [
    [...asked, opened],
    { event_type: "await.answered", data: { tool_use_id: "t1", content: "yes", is_error: false } },
    { run: { calls: [{ phase: "waiting", answer: { content: "yes" } }, { answer: null }] } },
  ],
  "await.resolved": [
    [...asked, opened],
    { event_type: "await.resolved", data: { ...inStep, tool_use_id: "t1", resolution: "timed_out", waited_ms: 1 } },
    { run: { calls: [{ phase: "waiting" }, { phase: "asked" }] } },
  ],
  "answer.validated": [
    running,
    { event_type: "answer.validated", data: { ...inStep, passed: false, reason: "short" } },
    { run: { validationFailures: 1 } },
  ],
  "transcript.repaired": [
    running,
    { event_type: "transcript.repaired", data: { ...inStep, repairs: [{}] } },
    { run: { repaired: true } },
  ],
  "parent.informed": [
    running,
    { event_type: "parent.informed", data: { ...inStep, session_id: later, tool_use_id: "t" } },
    { run: { parentInformed: true } },
  ],
  "memory.retrieved": [
    running,
    {
      event_type: "memory.retrieved",
      data: {
        ...memory,
        messages_count: 1,
        estimated_tokens: 1,
        memories_found: 1,
        memories_injected: 1,
        injected: ["m"],
      },
    },
    { run: { memoryRetrieved: true } },
  ],
  "memory.updated": [
    running,
    { event_type: "memory.updated", data: { ...memory, memories_written: 1 } },
    { run: { memoryRetrieved: false } },
  ],
  "memory.saved": [running, { event_type: "memory.saved", data: { ...memory, details: {} } }, { run: { step: 0 } }],
  "memory.restored": [
    running,
    { event_type: "memory.restored", data: { ...memory, details: {} } },
    { run: { step: 0 } },
  ],
  "compaction.checked": [
    [...running, entered(message)],
    checked([{ role: "user", content: "short" }]),
    { compacted: { until: 1, messages: [{ role: "user", content: "short" }] } },
  ],
  "file.generated": [running, { event_type: "file.generated", data: file }, { files: {}, run: { filesGenerated: 0 } }],
  "file.downloaded": [
    running,
    { event_type: "file.downloaded", data: { ...file, size: 5, duration_ms: 1 } },
    { files: {}, run: { filesGenerated: 0 } },
  ],
  "file.stored": [
    running,
    stored,
    { run: { filesGenerated: 1 }, files: { file_1: { created_in_run: run, last_updated_run: run, size: 5 } } },
  ],
  "file.failed": [running, { event_type: "file.failed", data: { ...file, error: failure } }, { files: {} }],
};

test.each(Object.entries(EFFECTS))("%s is folded into the state", (_, [before, fact, after]) => {
  const state = fold(foldAll(session, log(before)), log([fact], before.length + 1));
  expect(state).toMatchObject({ ...after, sequence: before.length + 1 });
});

describe("fold is strict", () => {
  test.each([
    ["a gap", [1, 3], "event 3 follows 1. Expected 2."],
    ["a repeat", [1, 1], "event 1 follows 1. Expected 2."],
    ["a start in the middle", [2], "event 2 follows 0. Expected 1."],
  ])("fold rejects %s", (_, sequences, sentence) => {
    const events = sequences.map((sequence) => Object.assign({}, ...log([created]), { sequence }) as Event);
    expect(() => foldAll(session, events)).toThrow(expect.objectContaining({ code: "store_corrupt" }));
    expect(() => foldAll(session, events)).toThrow(sentence);
  });

  test("fold rejects an unknown event type, because decisions need the complete state", () => {
    const unknown = { ...log([created])[0], event_type: "session.exploded" } as unknown as Event;
    expect(() => foldAll(session, [unknown])).toThrow(expect.objectContaining({ code: "unreadable" }));
  });

  test("fold rejects a run whose prompt was never accepted, and a message without content", () => {
    for (const facts of [
      [created, started],
      [created, entered(message)],
    ])
      expect(() => foldAll(session, log(facts))).toThrow(expect.objectContaining({ code: "store_corrupt" }));
  });
});

describe("the effect of several facts", () => {
  const after = (...facts: readonly Fact[]): SessionState => foldAll(session, log(facts));

  test("a cancel of a queued run removes its prompt from the queue and does not affect the run in progress", () => {
    const cancel: Fact = { event_type: "cancel.requested", data: { run_id: later, reason: null } };
    const state = after(...running, prompt(reply, later), cancel);
    expect(state.queue).toEqual([]);
    expect(state.pending).not.toHaveProperty(reply);
    expect(state.run?.cancelRequested).toBe(false);
  });

  test("a run that ends before its prompt was read leaves no pending content", () => {
    expect(after(...running, completed).pending).toEqual({});
  });

  test("a cancel of a run that has ended has no effect", () => {
    const cancel: Fact = { event_type: "cancel.requested", data: { run_id: run, reason: null } };
    expect(after(...running, completed, cancel)).toMatchObject({ run: null, outcome: "completed" });
  });

  test("a prompt that steers enters the transcript of the run in progress", () => {
    const state = after(...running, entered(message), prompt(later, later, "steer"), entered(later));
    expect(state.transcript.map(({ id }) => id)).toEqual([message, later]);
    expect(state).toMatchObject({ queue: [], run: { runId: run } });
  });

  test("results enter the transcript as one message, in the order of the calls, with errors marked", () => {
    const second = { ...toolCompleted.data, tool_use_id: "t2", is_error: false, content: "yes", part: 1 };
    const state = after(
      ...asked,
      entered(reply, "assistant"),
      { event_type: "tool.completed", data: { ...second, outcome: "committed" } },
      toolCompleted,
      entered(results),
    );
    expect(state.transcript.at(-1)?.content).toEqual([
      { type: "tool_result", tool_use_id: "t1", content: "no", is_error: true },
      { type: "tool_result", tool_use_id: "t2", content: "yes" },
    ]);
    expect(state.run).toMatchObject({ calls: [], resultsMessageId: null });
  });

  test("the first answer to an await counts, and a second answer changes nothing", () => {
    const answer = (content: string): Fact => ({
      event_type: "await.answered",
      data: { tool_use_id: "t1", content, is_error: false },
    });
    const state = after(...asked, opened, answer("first"), answer("second"));
    expect(state.run?.calls[0]?.answer?.content).toBe("first");
  });

  test("a second result for a call changes nothing", () => {
    const again = { ...toolCompleted, data: { ...toolCompleted.data, content: "other" } } as Fact;
    expect(after(...asked, toolCompleted, again).run?.calls[0]?.result?.content).toBe("no");
  });

  test("progress resets the count of resumes without progress, and a resume increases it", () => {
    const resumed: Fact = { event_type: "run.resumed", data: { run_id: run, fence: 2 } };
    expect(after(...running, resumed, resumed).run?.resumesWithoutProgress).toBe(2);
    expect(after(...running, resumed, resumed, generated()).run?.resumesWithoutProgress).toBe(0);
  });

  test.each<[string, number, Fact]>([
    ["the result of a tool", 0, toolCompleted],
    ["an unknown result", 2, { ...toolCompleted, data: { ...toolCompleted.data, outcome: "unknown" } }],
    ["a wait that is cancelled", 2, resolvedAs("cancelled")],
    ["a wait that is answered", 0, resolvedAs("answered")],
  ])("%s sets the count of resumes without progress from 2 to %i", (_, count, fact) => {
    const resumed: Fact = { event_type: "run.resumed", data: { run_id: run, fence: 2 } };
    expect(after(...asked, resumed, resumed, fact).run?.resumesWithoutProgress).toBe(count);
  });

  test("a run that was resumed six times without progress stays poisoned while its end is written", () => {
    const resumed: Fact = { event_type: "run.resumed", data: { run_id: run, fence: 2 } };
    const six = Array.from({ length: 6 }, () => resumed);
    const informed: Fact = {
      event_type: "parent.informed",
      data: { ...inStep, session_id: session, tool_use_id: "t1" },
    };
    expect(after(...asked, ...six, resolvedAs("timed_out"), toolCompleted, informed).run?.resumesWithoutProgress).toBe(
      6,
    );
  });

  test("the cost reservation for an interrupted model call ends with the model's next answer", () => {
    const until = "2999-01-01T00:00:00.000Z";
    const reservation = { run_micros: 5, session_micros: 5, until };
    const broken: Fact = {
      event_type: "step.abandoned",
      data: { ...inStep, model: "m", usage, cost: null, reserved_micros: 5, reservation },
    };
    expect(after(...running, stepStarted, broken).reservations).toEqual([{ runId: run, micros: 5, until }]);
    expect(after(...running, stepStarted, broken, stepStarted, generated()).reservations).toEqual([]);
  });

  test("a model call for a title costs money and adds nothing to the transcript", () => {
    const title = { ...generated(), data: { ...generated().data, purpose: "title" } } as Fact;
    const state = after(...running, title);
    expect(state).toMatchObject({ costPicos: "7000000", run: { calls: [], resultsMessageId: null } });
    expect(Object.keys(state.pending)).toEqual([message]);
  });

  test("if a later run writes a file again, the state still names the run that created the file", () => {
    const second: Fact[] = [
      completed,
      prompt(later, later),
      {
        event_type: "session.started",
        data: { run_id: later, message_id: later, user_message: "", formatter: "json" },
      },
    ];
    const state = after(...running, stored, ...second, stored);
    expect(state.files["file_1"]).toMatchObject({ created_in_run: run, last_updated_run: later });
  });

  test("the model is shown the compacted messages and everything after them; the transcript stays complete", () => {
    const state = after(
      ...running,
      entered(message),
      checked([{ role: "user", content: "short" }]),
      prompt(later, later, "steer"),
      entered(later),
    );
    expect(contextOf(state).map(({ content }) => content)).toEqual(["short", "hi"]);
    expect(state.transcript).toHaveLength(2);
    expect(contextOf(after(...running, entered(message), checked(null)))).toHaveLength(1);
  });

  const answered: Fact = { event_type: "await.answered", data: { tool_use_id: "t1", content: "", is_error: false } };
  const one = [...running, stepStarted, generated("t1")];
  test.each([
    ["a session without a run is idle", [created], "idle"],
    ["a session with only a prompt is still idle", [created, prompt(message, run)], "idle"],
    ["a session with a run is running", running, "running"],
    ["a session with a call that waits is awaiting", [...one, opened], "awaiting"],
    ["a session with a call that waits and a call that works is running", [...asked, opened], "running"],
    ["a session with an answer that no worker has handled yet is running", [...one, opened, answered], "running"],
    ["a session whose run has ended is idle", [...running, completed], "idle"],
  ] as const)("%s", (_, facts, status) => {
    expect(statusOf(after(...facts))).toBe(status);
  });
});

describe("a snapshot", () => {
  test("folding from a snapshot gives the same state as folding the whole log", () => {
    const facts = [...asked, opened, toolCompleted, entered(reply, "assistant"), stored, completed];
    for (let cut = 0; cut <= facts.length; cut++) {
      const before = restore(snapshotOf(foldAll(session, log(facts.slice(0, cut)))));
      const state = fold(before ?? emptyState(session), log(facts.slice(cut), cut + 1));
      expect(state).toEqual(foldAll(session, log(facts)));
    }
  });

  test("a snapshot of another version of the fold is not used", () => {
    const snapshot = { ...snapshotOf(emptyState(session)), version: FOLD_VERSION + 1 };
    expect(restore(snapshot)).toBeUndefined();
  });
});

test("folding time does not grow quadratically: ten times the events take less than forty times as long", async () => {
  const store = createMemoryStore();
  const script = createScript({ store, ids: createIds() });
  await script.create();
  for (let i = 0; i < 770; i++) await script.toolTurn(`turn ${i}`);
  const events = (await store.read(script.sessionId)).slice(0, 10_000);
  expect(events).toHaveLength(10_000);
  const time = (count: number): number => {
    const begin = performance.now();
    foldAll(script.sessionId, events.slice(0, count));
    return performance.now() - begin;
  };
  let [small, large] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  // The fastest of many rounds counts, because other programs may use the machine. A fold that copies the state for
  // each event is a hundred times slower in every round.
  for (let round = 0; round < 100 && !(large / small < 40); round++) {
    small = Math.min(small, time(1000));
    large = Math.min(large, time(10_000));
  }
  expect(large / small).toBeLessThan(40);
});
