import { decide } from "../../src/loop/decide.ts";
import type { Decision, View } from "../../src/loop/decision.ts";
import { type FactOf, type SessionState, defineTool, emptyState, fold } from "@skein/core";
import { scriptedAgent } from "@skein/core/testing";
import { type AgentConfig, type ContentBlock, type Event, type Fact, NO_USAGE } from "@skein/protocol";
import { expect, test } from "vitest";
import { z } from "zod";

const RUN = "01890000-0000-7000-8000-0000000000aa";
const PROMPT = "01890000-0000-7000-8000-0000000000bb";
const REPLY = "01890000-0000-7000-8000-0000000000cc";
const RESULTS = "01890000-0000-7000-8000-0000000000dd";
const noon = Date.parse("2026-01-01T12:00:00.000Z");

const tool = (name: string, options: object = {}) =>
  defineTool({ name, description: "", input: z.object({}), run: () => "", ...options });
const tools = new Map(
  [
    tool("look"),
    tool("again", { policy: "repeatable" }),
    tool("ask", { executor: "frontend", timeoutMs: 1000 }),
    tool("danger", { needsApproval: true }),
  ].map((made) => [made.name, made]),
);
const view: View = {
  fence: 1,
  startedHere: RUN,
  model: {},
  tools,
  notices: [],
  validates: false,
  maxValidationFailures: 3,
  remembers: false,
};

const created = (config: Partial<AgentConfig> = {}): Fact => ({
  event_type: "session.created",
  data: {
    tenant: "t",
    agent_id: RUN,
    agent_version: 1,
    agent: { ...scriptedAgent, ...config },
    title: null,
    tags: [],
    model_id: null,
    working_directory: null,
    metadata: {},
    parent: null,
    subagent_of: null,
  },
});
const prompted = (mode: "queue" | "steer" | "interrupt" = "queue", n = 0): FactOf<"prompt.accepted"> => ({
  event_type: "prompt.accepted",
  data: {
    message_id: n ? `${PROMPT.slice(0, -1)}${n}` : PROMPT,
    run_id: n ? `${RUN.slice(0, -1)}${n}` : RUN,
    mode,
    content: "hi",
    model: null,
    max_cost_micros: null,
  },
});
const started: Fact = {
  event_type: "session.started",
  data: { run_id: RUN, message_id: PROMPT, user_message: "hi", formatter: "json" },
};
const noticed: Fact = {
  event_type: "runtime.noticed",
  data: { run_id: RUN, message_id: REPLY, subtype: "tools", notice: { text: "It is gone." } },
};
const entered = (id: string, rows = 1): Fact => ({
  event_type: "message.created",
  data: {
    message_id: id,
    run_id: RUN,
    step: 1,
    role: "user",
    rows,
    transformation_type: "message_added",
    messages_before_count: 0,
    messages_after_count: 1,
    tokens_before: 0,
    tokens_after: 0,
  },
});
const asked = (attempt = 1): Fact => ({
  event_type: "step.started",
  data: {
    run_id: RUN,
    step: 1,
    attempt,
    purpose: "step",
    model: "m",
    max_tokens: 10,
    thinking_tokens: 0,
    tools_count: 0,
    messages_count: 1,
    estimated_tokens: 5,
  },
});
const replied = (content: ContentBlock[], stop_reason = "end_turn"): Fact => ({
  event_type: "step.generated",
  data: {
    run_id: RUN,
    step: 1,
    purpose: "step",
    message_id: REPLY,
    results_message_id: RESULTS,
    content,
    model: "m",
    stop_reason,
    usage: { input_tokens: 1, output_tokens: 1 },
    cost: null,
    container_id: null,
    duration_ms: 1,
  },
});
const call = (...names: readonly string[]): ContentBlock[] =>
  names.map((name, i) => ({ type: "tool_use", id: `t${i}`, name, input: {} }));
const toolStarted = (id: string, policy: "once" | "repeatable"): Fact => ({
  event_type: "tool.started",
  data: { run_id: RUN, step: 1, tool_use_id: id, name: "look", input: {}, policy },
});
const resumed: Fact = { event_type: "run.resumed", data: { run_id: RUN, fence: 2 } };
const cancelled: Fact = { event_type: "cancel.requested", data: { run_id: RUN, reason: null } };
const failed: Fact = {
  event_type: "step.error",
  data: { run_id: RUN, step: 1, error: { code: "api_error", message: "broken" }, duration_ms: 1 },
};
const retried: Fact = {
  event_type: "step.retried",
  data: { run_id: RUN, step: 1, attempt: 1, error: { code: "overloaded_error", message: "busy" }, delay_ms: 1000 },
};
const ended: Fact = {
  event_type: "session.completed",
  data: {
    run_id: RUN,
    step: 1,
    stop_reason: "end_turn",
    final_response: "",
    usage: NO_USAGE,
    cost_micros: 0,
    unpriced_calls: 0,
    files_generated: 0,
    duration_ms: 1,
  },
};
const opened = (expires_at: string | null): Fact => ({
  event_type: "await.opened",
  data: {
    run_id: RUN,
    step: 1,
    awaits: [{ tool_use_id: "t0", kind: "frontend_tool", name: "ask", input: {}, expires_at, session_id: null }],
  },
});
const answered: Fact = { event_type: "await.answered", data: { tool_use_id: "t0", content: "yes", is_error: false } };

const begun = [created(), prompted(), started, entered(PROMPT)];
const calling = (...names: readonly string[]): Fact[] => [
  ...begun,
  asked(),
  replied(call(...names), "tool_use"),
  entered(REPLY, names.length),
];

function stateOf(facts: readonly Fact[]): SessionState {
  const events = facts.map((fact, index): Event => ({
    ...fact,
    id: String(index),
    session_id: "s",
    sequence: index + 1,
    created_at: new Date(noon).toISOString(),
  }));
  return fold(emptyState("s"), events);
}

/** Summarises a decision: the types of its facts and effects, or the time until which it sleeps. */
function inShort({ facts, effects, sleep }: Decision): readonly string[] {
  if (sleep) return [`sleep ${sleep.dueAt}`];
  return [...facts.map(({ event_type }) => event_type), ...effects.map(({ kind }) => kind)];
}

test.each<[string, readonly Fact[], readonly string[], Partial<View>?]>([
  ["a session without a prompt sleeps", [created()], ["sleep null"]],
  ["a prompt starts a run", [created(), prompted()], ["session.started"]],
  ["the prompt enters the transcript", [created(), prompted(), started], ["message.created"]],
  ["the intent to call the model is stored before the call", begun, ["step.started"]],
  ["after the intent to call the model is stored, the model is called", [...begun, asked()], ["call-model"]],
  ["a reply enters the transcript", [...begun, asked(), replied([{ type: "text", text: "4" }])], ["message.created"]],
  [
    "a final reply ends the run",
    [...begun, asked(), replied([{ type: "text", text: "4" }]), entered(REPLY)],
    ["session.completed"],
  ],
  [
    "a final reply is validated if the agent validates answers",
    [...begun, asked(), replied([]), entered(REPLY)],
    ["validate"],
    { validates: true },
  ],
  ["a paused turn continues", [...begun, asked(), replied([], "pause_turn"), entered(REPLY)], ["step.started"]],
  [
    "a full context window fails the run",
    [...begun, asked(), replied([], "model_context_window_exceeded"), entered(REPLY)],
    ["session.failed"],
  ],
  ["two tool calls of one reply are stored together", calling("look", "again"), ["tool.started", "tool.started"]],
  ["a tool whose call is stored is executed", [...calling("look"), toolStarted("t0", "once")], ["run-tool"]],
  ["a call of an unknown tool gets a result immediately", calling("nothing"), ["tool.completed"]],
  ["a call of a frontend tool opens an await", calling("ask"), ["await.opened"]],
  ["a tool that needs approval waits for a person first", calling("danger"), ["await.opened"]],
  [
    "a run that waits sleeps until the time limit of the wait",
    [...calling("ask"), opened("2026-01-01T12:00:05.000Z")],
    [`sleep ${noon + 5000}`],
  ],
  [
    "a client's answer becomes the result of the call",
    [...calling("ask"), opened(null), answered],
    ["await.resolved", "tool.completed"],
  ],
  [
    "a wait that reached its time limit becomes an error",
    [...calling("ask"), opened("2026-01-01T11:00:00.000Z")],
    ["await.resolved", "tool.completed"],
  ],
  ["after a failed attempt the run waits until the time of the retry", [...begun, asked(), retried], ["wait"]],
  ["a model call that cannot succeed fails the run", [...begun, asked(), failed], ["session.failed"]],
  ["a run that another worker left is resumed", [...begun, asked()], ["run.resumed"], { startedHere: null, fence: 2 }],
  ["a lost model call is abandoned", [...begun, asked(), resumed], ["step.abandoned"], { startedHere: null, fence: 2 }],
  [
    "a lost tool call with the policy once is not repeated",
    [...calling("look"), toolStarted("t0", "once"), resumed],
    ["tool.completed"],
    { startedHere: null, fence: 2 },
  ],
  [
    "a lost tool call with the policy repeatable is started again",
    [...calling("again"), toolStarted("t0", "repeatable"), resumed],
    ["tool.started"],
    { startedHere: null, fence: 2 },
  ],
  [
    // The store rejects the append of `run.resumed`, because this worker has lost the lease.
    "a worker does not run a tool call of another worker that took over the run",
    [...calling("look"), resumed, toolStarted("t0", "once")],
    ["run.resumed"],
  ],
  [
    "a run that kills its workers is ended",
    [...begun, resumed, resumed, resumed, resumed, resumed, resumed],
    ["session.failed"],
    { startedHere: null, fence: 2 },
  ],
  ["a cancel abandons the model call", [...begun, asked(), cancelled], ["step.abandoned"]],
  ["a cancel closes open tool calls", [...calling("look"), toolStarted("t0", "once"), cancelled], ["tool.completed"]],
  ["a cancel of a run without open tool calls ends the run", [...begun, cancelled], ["session.failed"]],
  ["an interrupting prompt ends the run", [...begun, prompted("interrupt", 1)], ["session.failed"]],
  ["a prompt that steers is read before the next step", [...begun, prompted("steer", 1)], ["message.created"]],
  [
    "a prompt that arrives while the run ends is not lost",
    [...begun, asked(), replied([]), entered(REPLY), prompted("queue", 1), ended],
    ["session.started"],
  ],
  [
    "the last step is followed by a summary",
    [
      created({ max_steps: 1 }),
      prompted(),
      started,
      entered(PROMPT),
      asked(),
      replied([], "pause_turn"),
      entered(REPLY),
    ],
    ["steps.exhausted"],
  ],
  ["notices about tools are stored", begun, ["runtime.noticed"], { notices: ["It is gone."] }],
  ["a notice about tools is stored once", [...begun, noticed], ["step.started"], { notices: ["It is gone."] }],
  ["an agent that cannot work in this process fails its run", begun, ["session.failed"], { problem: "no such tool" }],
  [
    "a session that has spent its budget stops",
    [created({ max_cost_micros: 0 }), prompted(), started, entered(PROMPT)],
    ["session.failed"],
  ],
])("%s", (_, facts, expected, more = {}) => {
  expect(inShort(decide(stateOf(facts), noon, { ...view, ...more }))).toEqual(expected);
});

test("an interrupting prompt starts before other prompts", () => {
  const { facts } = decide(stateOf([created(), prompted(), prompted("interrupt", 1)]), noon, view);
  const { message_id, run_id } = prompted("interrupt", 1).data;
  expect(facts).toMatchObject([{ event_type: "session.started", data: { message_id, run_id } }]);
});

test("the same state, time and view always give the same decision", () => {
  const facts = calling("look", "ask", "danger");
  expect(decide(stateOf(facts), noon, view)).toEqual(decide(stateOf(facts), noon, view));
});
