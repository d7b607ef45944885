import type { Draft, Event } from "@skein/protocol";
import { describe, expect, test } from "vitest";
import { datedNames, distinctNames } from "../src/api/distinct-names.ts";
import { fold, foldDraft } from "../src/session/fold.ts";
import { stateOfStep } from "../src/session/step-state.ts";
import { type SessionView, emptyView, endOfStep, stepLabel, stepName } from "../src/session/view.ts";

const RUN = "01a1e4b7-0d2a-7019-98c1-6ecd88e8c128";
const SESSION = "01a1e4b7-0d2a-7019-98c1-6ecd88e8c129";
const usage = { input_tokens: 10, output_tokens: 5 };
const cost = {
  model: "m",
  input_micros: 1,
  output_micros: 2,
  cache_write_micros: 0,
  cache_read_micros: 0,
  server_tool_micros: 0,
  total_micros: 3,
  long_context_applied: false,
};

/** Returns the view of a session with these events. The events have only the fields that `fold` reads. */
function viewOf(...facts: readonly { event_type: string; data: object }[]): SessionView {
  const view = emptyView();
  for (const [at, fact] of facts.entries()) fold(view, eventOf(fact, at + 1));
  return view;
}

function eventOf(fact: { event_type: string; data: object }, sequence: number): Event {
  const created_at = new Date(1_700_000_000_000 + sequence * 1000).toISOString();
  return { ...fact, id: `id-${sequence}`, session_id: SESSION, sequence, created_at } as unknown as Event;
}

const prompt = {
  event_type: "prompt.accepted",
  data: { message_id: "p1", run_id: RUN, mode: "queue", content: "Hello" },
};
const started = { event_type: "session.started", data: { run_id: RUN, message_id: "p1", user_message: "Hello" } };
const step = (number: number) => ({
  event_type: "step.started",
  data: { run_id: RUN, step: number, attempt: 1, purpose: "step", model: "m", messages_count: 1 },
});
const said = (number: number, content: object[]) => ({
  event_type: "step.generated",
  data: {
    run_id: RUN,
    step: number,
    purpose: "step",
    message_id: `m${number}`,
    content,
    model: "m",
    stop_reason: "end_turn",
    usage,
    cost,
    duration_ms: 100,
  },
});
const call = { type: "tool_use", id: "t1", name: "Bash", input: { command: "ls" } };
const toolStarted = {
  event_type: "tool.started",
  data: { run_id: RUN, step: 1, tool_use_id: "t1", name: "Bash", input: {}, policy: "once" },
};
const toolEnded = (outcome: string) => ({
  event_type: "tool.completed",
  data: {
    run_id: RUN,
    step: 1,
    tool_use_id: "t1",
    name: "Bash",
    outcome,
    content: "a\nb",
    is_error: outcome === "failed",
    duration_ms: 7,
  },
});

describe("the view of a session", () => {
  test("a prompt waits in the queue until its run begins, and then appears in the transcript once", () => {
    expect(viewOf(prompt).queue).toHaveLength(1);
    const created = { event_type: "message.created", data: { message_id: "p1", run_id: RUN, role: "user" } };
    const view = viewOf(prompt, started, created);
    expect(view.queue).toHaveLength(0);
    expect(view.items.filter(({ kind }) => kind === "prompt")).toHaveLength(1);
  });

  test.each([
    ["committed", "done"],
    ["failed", "failed"],
    ["unknown", "unknown"],
  ])("a call whose outcome is %s is shown as %s", (outcome, state) => {
    const view = viewOf(prompt, started, step(1), said(1, [call]), toolStarted, toolEnded(outcome));
    expect(view.calls.get("t1")).toMatchObject({ state, durationMs: 7, policy: "once" });
  });

  test.each([
    ["denied", { content: "Not today", is_error: true }, "answered", "This call was not allowed. Not today"],
    ["cancelled", undefined, "cancelled", "The run was cancelled before this call finished."],
    ["failed", { content: "yes", is_error: false }, "answered", "No such file"],
  ])(
    "a call that waited for an approval and ended as %s is shown so, also in a fork",
    (state, answer, resolution, text) => {
      const awaits = [
        { tool_use_id: "t1", kind: "approval", name: "Bash", input: {}, expires_at: null, session_id: null },
      ];
      const opened = { event_type: "await.opened", data: { run_id: RUN, step: 1, awaits } };
      const answered = answer ? [{ event_type: "await.answered", data: { tool_use_id: "t1", ...answer } }] : [];
      const resolved = { event_type: "await.resolved", data: { tool_use_id: "t1", resolution } };
      const { event_type, data } = toolEnded("failed");
      const ended = { event_type, data: { ...data, content: text } };
      const view = viewOf(prompt, started, step(1), said(1, [call]), opened, ...answered, resolved, ended);
      expect(view.calls.get("t1")?.state).toBe(state);

      const copied = (role: string, content: unknown) => ({
        event_type: "message.copied",
        data: { message_id: `c-${role}`, role, content },
      });
      const result = { type: "tool_result", tool_use_id: "t1", content: text, is_error: true };
      const fork = viewOf(copied("user", "Do it"), copied("assistant", [call]), copied("user", [result]));
      expect(fork.calls.get("t1")?.state).toBe(state);
    },
  );

  test("the tokens and costs of steps, generated titles and abandoned answers are added up", () => {
    const title = { ...said(1, []), data: { ...said(1, []).data, purpose: "title" } };
    const lost = { event_type: "step.abandoned", data: { run_id: RUN, step: 1, model: "m", usage, cost } };
    const view = viewOf(prompt, started, step(1), said(1, []), title, lost);
    expect(view.costMicros).toBe(9);
    expect(view.totals).toMatchObject({ input_tokens: 30, output_tokens: 15 });
    expect([...view.asides]).toMatchObject([["title", { calls: 1, totals: { input_tokens: 10, output_tokens: 5 } }]]);
  });

  test.each([
    [
      "cancelled",
      { event_type: "step.abandoned", data: { run_id: RUN, step: 1, model: "m", usage, cost, reason: "cancelled" } },
      "cancelled",
    ],
    ["failed", { event_type: "step.error", data: { run_id: RUN, step: 1, error: { message: "x" } } }, "failed"],
    [
      "ended with its run",
      { event_type: "session.failed", data: { run_id: RUN, outcome: "cancelled", error: { message: "x" } } },
      "cancelled",
    ],
  ])("a model call that was %s has an end and a known state", (_, end, state) => {
    const view = viewOf(prompt, started, step(1), { event_type: "memory.saved", data: {} }, end);
    const [one] = view.steps;
    expect(one && stateOfStep(one)).toBe(state);
    expect(one && (endOfStep(one) ?? 0) - one.at).toBe(2000);
  });

  test("the start of an adopted step is before its answer, and is not the time of the adoption", () => {
    const happened_at = "2023-01-02T03:04:05.000Z";
    const answer = said(1, []);
    const view = viewOf(prompt, started, step(1), { ...answer, data: { ...answer.data, happened_at } });
    expect(view.steps[0]).toMatchObject({ at: Date.parse(happened_at) - 100, generatedAt: Date.parse(happened_at) });
  });

  test("a step that a simulated model answered is marked", () => {
    const answer = said(1, []);
    const view = viewOf(prompt, started, step(1), { ...answer, data: { ...answer.data, simulated: true } }, step(2));
    expect(view.steps.map(({ isSimulated }) => isSimulated)).toEqual([true, false]);
  });

  test("from the second run on, the name of a step has the number of its run, unless the beginning of the log is missing", () => {
    const later = (fact: { event_type: string; data: object }) => ({
      ...fact,
      data: { ...fact.data, run_id: "run 2" },
    });
    const second = [later(started), later(step(1))];
    expect(viewOf(started, step(1), step(2), ...second).steps.map(stepName)).toEqual([
      "Step 1",
      "Step 2",
      "Run 2, step 1",
    ]);
    expect(viewOf(started, step(1), ...second).steps.map(stepLabel)).toEqual(["1", "2.1"]);
    const partial = emptyView();
    for (const [at, fact] of second.entries()) fold(partial, eventOf(fact, at + 500));
    expect(partial.steps.map(stepName)).toEqual(["Step 1"]);
  });

  test("drafts (pieces of an unfinished answer) extend the text of the step, except after a gap or if they belong to another attempt", () => {
    const view = viewOf(prompt, started, step(1));
    const draft = (offset: number, delta: string, attempt = 1): Draft => ({
      event_type: "step.generating",
      data: { session_id: SESSION, run_id: RUN, step: 1, attempt, message_id: "m1", offset, delta },
    });
    foldDraft(view, draft(0, "Hel"));
    foldDraft(view, draft(3, "lo"));
    foldDraft(view, draft(9, "gap"));
    foldDraft(view, draft(0, "old", 7));
    expect(view.steps[0]?.draft).toBe("Hello");
    foldDraft(view, draft(0, "Hello again"));
    expect(view.steps[0]?.draft).toBe("Hello again");
  });

  test("an event that arrives twice changes the view only once", () => {
    const view = viewOf(prompt, started);
    fold(view, eventOf(started, 2));
    expect(view.runs).toHaveLength(1);
  });

  test("an event of an unknown type is shown by its name, and later events are shown as usual", () => {
    const view = viewOf(prompt, { event_type: "vault.opened", data: { x: 1 } }, started, step(1));
    expect(view.items.map(({ kind }) => kind)).toEqual(["unknown", "prompt", "step"]);
  });

  test("the transcript marks a run that was resumed after the death of its worker, but not after a wait", () => {
    const resumed = { event_type: "run.resumed", data: { run_id: RUN, fence: 2 } };
    const marks = (view: SessionView): number => view.items.filter(({ kind }) => kind === "mark").length;
    expect(marks(viewOf(prompt, started, step(1), said(1, [call]), resumed))).toBe(0);
    expect(marks(viewOf(prompt, started, step(1), said(1, [call]), toolStarted, resumed))).toBe(1);
  });

  test("a request for an approval is open until it is answered", () => {
    const awaits = [
      { tool_use_id: "t1", kind: "approval", name: "Bash", input: {}, expires_at: null, session_id: null },
    ];
    const opened = { event_type: "await.opened", data: { run_id: RUN, step: 1, awaits } };
    const answered = { event_type: "await.answered", data: { tool_use_id: "t1", content: "yes", is_error: false } };
    expect(viewOf(prompt, started, step(1), said(1, [call]), opened).open.size).toBe(1);
    expect(viewOf(prompt, started, step(1), said(1, [call]), opened, answered).open.size).toBe(0);
  });

  test("a copied conversation shows its calls with their results", () => {
    const copied = (role: string, content: unknown) => ({
      event_type: "message.copied",
      data: { message_id: `c-${role}`, role, content },
    });
    const result = { type: "tool_result", tool_use_id: "t1", content: "done" };
    const view = viewOf(copied("user", "Do it"), copied("assistant", [call]), copied("user", [result]));
    expect(view.items.map(({ kind }) => kind)).toEqual(["prompt", "step"]);
    expect(view.calls.get("t1")).toMatchObject({ state: "done", result: "done" });
  });
});

test("agents with the same name are told apart by the end of their id, and in menus also by their time", () => {
  const agent = (id: string, name: string) => ({ id, name, created_at: "2023-01-02T12:00:00.000Z" });
  const agents = [agent(RUN, "Helper"), agent(SESSION, "Helper"), agent("one", "Fixer")];
  expect([...distinctNames(agents).values()]).toEqual(["Helper …c128", "Helper …c129", "Fixer"]);
  expect([...datedNames(agents).values()]).toEqual([
    "Helper …c128, made 2 Jan 2023",
    "Helper …c129, made 2 Jan 2023",
    "Fixer",
  ]);
});
