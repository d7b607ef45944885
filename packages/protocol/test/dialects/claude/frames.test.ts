import {
  type Fact,
  type FramingContext,
  StreamEvent,
  createFraming,
  frameId,
  partialFrame,
  placeOfFrame,
} from "@skein/protocol";
import { expect, test } from "vitest";

const session = "01980000-0000-7000-8000-000000000001";
const uuid = (n: number): string => `01980000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const run = { run_id: uuid(10) };
const usage = { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 2, cache_creation_input_tokens: 1 };
const totals = { usage, cost_micros: 1500, unpriced_calls: 0, files_generated: 0, duration_ms: 42 };
const entered = {
  messages_before_count: 0,
  messages_after_count: 1,
  tokens_before: 0,
  tokens_after: 1,
  rows: 1,
  step: 1,
};

const context: FramingContext = {
  sessionId: session,
  model: "claude-sonnet-5-5",
  tools: ["add"],
  announces: true,
  contents: new Map(),
  costBefore: 1_000_000_000_000n,
};

/** Returns the frames of these facts, and checks each frame against its schema. */
function framed(facts: readonly Fact[], more: Partial<FramingContext> = {}) {
  const framing = createFraming({ ...context, ...more });
  const frames = facts.flatMap((fact, index) =>
    framing({
      ...fact,
      id: uuid(1000 + index),
      session_id: session,
      sequence: index + 1,
      created_at: "2026-01-01T00:00:00.000Z",
    }),
  );
  for (const frame of frames) StreamEvent.parse(frame);
  return frames;
}

const prompted: readonly Fact[] = [
  {
    event_type: "prompt.accepted",
    data: { ...run, message_id: uuid(1), mode: "queue", content: "Hello.", model: null, max_cost_micros: null },
  },
  { event_type: "session.started", data: { ...run, message_id: uuid(1), user_message: "Hello.", formatter: "json" } },
];
const entry = (
  message_id: string,
  role: "user" | "assistant",
  transformation_type: "user_message_added" | "tool_result_added" | "assistant_message_added",
): Fact => ({
  event_type: "message.created",
  data: { ...entered, ...run, message_id, role, transformation_type },
});
const up: Fact = {
  event_type: "runtime.started",
  data: {
    ...run,
    info: {
      type: "system",
      subtype: "init",
      session_id: "another",
      model: "claude-opus-5-5",
      tools: ["Bash", "Task"],
      mcp_servers: [
        { name: "a", status: "connected" },
        { name: "b", status: "needs-auth" },
      ],
      slash_commands: ["compact", "cost"],
      plugins: [{ name: "p", path: "/srv/secret/p" }],
      permissionMode: "default",
      apiKeySource: "ANTHROPIC_API_KEY",
      claude_code_version: "2.1.325",
      cwd: "/work",
    },
  },
};
const generated = (content: Record<string, unknown>[], message_id = uuid(2)): Fact => ({
  event_type: "step.generated",
  data: {
    ...run,
    step: 1,
    purpose: "step",
    message_id,
    results_message_id: uuid(3),
    content: content as never,
    model: "claude-opus-5-5",
    stop_reason: "tool_use",
    usage,
    cost: null,
    container_id: null,
    duration_ms: 1,
  },
});
const completed = (result?: Record<string, unknown>): Fact => ({
  event_type: "session.completed",
  data: { ...run, ...totals, step: 2, stop_reason: "end_turn", final_response: "Done.", ...(result && { result }) },
});

test("a run makes the frames init, messages, result and done, and the last frame of an event has the event's sequence", () => {
  const frames = framed([
    ...prompted,
    entry(uuid(1), "user", "user_message_added"),
    up,
    generated([
      { type: "thinking", thinking: "Hm." },
      { type: "text", text: "I look." },
      { type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "ls" } },
      { type: "something_new", anything: 1 },
      { type: "redacted_thinking", data: "xyz" },
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} },
      { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
      { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
    ]),
    entry(uuid(2), "assistant", "assistant_message_added"),
    {
      event_type: "tool.completed",
      data: {
        ...run,
        step: 1,
        tool_use_id: "toolu_1",
        name: "Bash",
        input: {},
        outcome: "committed",
        content: "a.txt",
        is_error: false,
        message_id: uuid(3),
        part: 0,
        duration_ms: 1,
      },
    },
    entry(uuid(3), "user", "tool_result_added"),
    completed(),
  ]);
  expect(frames.map(({ event, id }) => [event, id])).toEqual([
    ["init", undefined],
    ["message", frameId(session, 4)],
    ["message", frameId(session, 5)],
    ["message", frameId(session, 8)],
    ["result", undefined],
    ["done", frameId(session, 9)],
  ]);
  expect(frames[1]?.data).toEqual({ type: "user", content: [{ type: "text", text: "Hello." }], uuid: uuid(1) });
  expect(frames[2]?.data).toMatchObject({
    type: "assistant",
    model: "claude-opus-5-5",
    uuid: uuid(2),
    usage: { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 2, cache_creation_input_tokens: 1 },
    content: [
      { type: "thinking" },
      { type: "text" },
      { type: "tool_use", input: { command: "ls" } },
      // A block that the specification does not define is sent as the most similar type, with all its fields.
      { type: "text", text: "[something_new]", block_type: "something_new", anything: 1 },
      { type: "thinking", thinking: "", block_type: "redacted_thinking", data: "xyz" },
      { type: "tool_use", id: "srvtoolu_1", name: "web_search", block_type: "server_tool_use" },
      { type: "tool_result", tool_use_id: "srvtoolu_1", content: [], block_type: "web_search_tool_result" },
      { type: "text", text: "[image]", block_type: "image", source: { url: "https://example.com/a.png" } },
    ],
  });
  expect(frames[3]?.data).toMatchObject({
    type: "user",
    content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "a.txt", is_error: false }],
  });
});

test("init has the session's id and lists of names, but no path of a plugin and no source of the API key", () => {
  const [init] = framed([...prompted, up]);
  expect(init?.data).toEqual({
    session_id: session,
    model: "claude-opus-5-5",
    tools: ["Bash", "Task"],
    mcp_servers: [
      { name: "a", status: "connected", state: "connected" },
      { name: "b", status: "failed", state: "needs-auth", error: "The MCP server b is not connected: needs-auth." },
    ],
    plugins: ["p"],
    commands: ["compact", "cost"],
    permission_mode: "default",
    claude_code_version: "2.1.325",
    cwd: "/work",
  });
});

test("a run has one init frame, made from the agent's data if the runtime sends none", () => {
  expect(framed([...prompted, up, up]).map(({ event }) => event)).toEqual(["init"]);
  const [init] = framed(prompted, { announces: false });
  expect(init?.data).toMatchObject({ model: "claude-sonnet-5-5", tools: ["add"] });
});

test("a result has the cost of its run, the session's total cost, usage by model and further fields of the SDK", () => {
  const sdk = {
    type: "result",
    subtype: "success",
    num_turns: 3,
    total_cost_usd: 99,
    structured_output: { a: 1 },
    permission_denials: [{ tool_name: "Bash" }],
    modelUsage: { "claude-opus-5-5": { inputTokens: 7, costUSD: 0.5, contextWindow: 200 } },
    stop_reason: "end_turn",
  };
  const frames = framed([...prompted, generated([]), generated([], uuid(4)), completed(sdk)]);
  const result = frames.find(({ event }) => event === "result");
  expect(result?.data).toEqual({
    subtype: "success",
    permission_denials: [{ tool_name: "Bash" }],
    session_id: session,
    is_error: false,
    duration_ms: 42,
    num_turns: 3,
    total_cost_usd: 0.0015,
    session_total_cost_usd: 1.0015,
    usage,
    model_usage: {
      "claude-opus-5-5": {
        input_tokens: 20,
        output_tokens: 10,
        cache_read_input_tokens: 4,
        cache_creation_input_tokens: 2,
      },
    },
    session_model_usage: { "claude-opus-5-5": { input_tokens: 7, cost_usd: 0.5, context_window: 200 } },
    result: "Done.",
    structured_output: { a: 1 },
    is_complete: true,
    stop_reason: "completed",
    model_stop_reason: "end_turn",
  });
});

test("a run that ends before its runtime starts has the frame init and the prompt", () => {
  const frames = framed([...prompted, entry(uuid(1), "user", "user_message_added"), failed("failed", "error")]);
  expect(frames.map(({ event }) => event)).toEqual(["init", "message", "result", "error", "done"]);
});

test("the session's total cost is rounded after the costs of its runs are added", () => {
  const ended = {
    event_type: "session.completed",
    data: { ...completed().data, cost_micros: 0, cost_picos: "400000" },
  };
  const frames = framed([...prompted, ended as never, ...prompted, ended as never], { costBefore: 400_000n });
  const totals = frames.flatMap(({ event, data }) => (event === "result" ? [data.session_total_cost_usd] : []));
  expect(totals).toEqual([0.000001, 0.000001]);
});

test("the cost of a run is null if its model has no price", () => {
  const unpriced = { ...completed().data, unpriced_calls: 1 };
  const [result] = framed([{ event_type: "session.completed", data: unpriced as never }]);
  expect(result?.data).toMatchObject({ total_cost_usd: null, session_total_cost_usd: null });
});

const failed = (
  outcome: "failed" | "cancelled",
  stop_reason: "error" | "max_steps" | "cancelled",
  result?: Record<string, unknown>,
  code = "api_error",
): Fact => ({
  event_type: "session.failed",
  data: {
    ...run,
    ...totals,
    step: 1,
    outcome,
    stop_reason,
    error: { code, message: "It broke.", status: 529 },
    ...(result && { result }),
  },
});

const AGENT = "AGENT_ERROR";

test.each([
  { why: "an error", fact: failed("failed", "error"), stop: "error", reason: "error", code: AGENT },
  {
    why: "no turns left",
    fact: failed("failed", "max_steps"),
    stop: "max_turns_reached",
    reason: "error",
    code: AGENT,
  },
  {
    why: "an interrupt",
    fact: failed("cancelled", "cancelled"),
    stop: "interrupted",
    reason: "interrupted",
    code: null,
  },
  {
    why: "output that did not fit",
    fact: failed("failed", "error", undefined, "structured_output"),
    stop: "error",
    reason: "error",
    code: "STRUCTURED_OUTPUT_VALIDATION_ERROR",
  },
])("$why ends the stream with its reason", ({ fact, stop, reason, code }) => {
  const frames = framed([fact]);
  expect(frames.map(({ event }) => event)).toEqual(code ? ["result", "error", "done"] : ["result", "done"]);
  expect(frames[0]?.data).toMatchObject({ is_error: true, is_complete: false, stop_reason: stop });
  expect(frames.at(-1)?.data).toEqual({ reason });
  if (code) expect(frames[1]?.data).toMatchObject({ code, message: "It broke.", details: { status: 529 } });
});

test("a question keeps its input, and a permission request names its tool", () => {
  const opened = (kind: "question" | "approval", name: string, input: unknown) => ({
    tool_use_id: `toolu_${kind}`,
    kind,
    name,
    input,
    expires_at: null,
    session_id: null,
  });
  const questions = [
    { question: "Which database?", header: "Database", multiSelect: false, options: [{ label: "PostgreSQL" }] },
  ];
  const frames = framed([
    {
      event_type: "await.opened",
      data: {
        ...run,
        step: 1,
        awaits: [opened("question", "AskUserQuestion", { questions }), opened("approval", "Bash", { command: "ls" })],
      },
    },
    {
      event_type: "await.opened",
      data: { ...run, step: 1, awaits: [opened("question", "AskUserQuestion", { question: "Which one?" })] },
    },
  ]);
  expect(frames.map(({ event, id }) => [event, id])).toEqual([
    ["question", undefined],
    ["question", frameId(session, 1)],
    ["question", frameId(session, 2)],
  ]);
  expect(frames[0]?.data).toEqual({
    tool_use_id: "toolu_question",
    question: "Which database?",
    session_id: session,
    kind: "question",
    tool_name: "AskUserQuestion",
    input: { questions },
    questions,
    options: [{ label: "PostgreSQL" }],
  });
  expect(frames[1]?.data).toMatchObject({ kind: "approval", tool_name: "Bash", question: "May Bash run?" });
  expect(frames[2]?.data).toMatchObject({ question: "Which one?" });
});

test("a subagent's messages have the id of its tool call, and notices are system messages", () => {
  const frames = framed([
    {
      event_type: "subagent.messaged",
      data: {
        ...run,
        message_id: uuid(5),
        parent_tool_use_id: "toolu_9",
        role: "assistant",
        content: "Found it.",
        model: "claude-haiku-5-5",
        usage,
        cost: null,
      },
    },
    {
      event_type: "runtime.noticed",
      data: { ...run, message_id: uuid(6), subtype: "compact_boundary", notice: { content: "Compacted." } },
    },
    {
      event_type: "runtime.noticed",
      data: {
        ...run,
        message_id: uuid(7),
        subtype: "user_message",
        notice: { message: { role: "user", content: [{ type: "text", text: "[Request interrupted by user]" }] } },
      },
    },
    {
      event_type: "step.retried",
      data: { ...run, step: 1, attempt: 1, error: { code: "overloaded", message: "Busy.", status: 529 }, delay_ms: 10 },
    },
  ]);
  expect(frames.map(({ data }) => data)).toMatchObject([
    { type: "assistant", parent_tool_use_id: "toolu_9", content: [{ type: "text", text: "Found it." }] },
    { type: "system", subtype: "compact_boundary", content: [{ type: "text", text: "Compacted." }] },
    { type: "system", subtype: "user_message", content: [{ type: "text", text: "[Request interrupted by user]" }] },
    { type: "system", subtype: "api_retry", notice: { error_status: 529 } },
  ]);
});

test("the frames of a run have its prompt, even if the prompt was accepted before the first framed event", () => {
  const frames = framed([entry(uuid(1), "user", "user_message_added")], {
    contents: new Map([[uuid(1), "Long ago."]]),
  });
  expect(frames[0]?.data).toMatchObject({ content: [{ type: "text", text: "Long ago." }] });
});

test.each([
  ["a start", { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }],
  ["text", { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "H" } }],
  ["thinking", { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "H" } }],
  ["input", { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: "{" } }],
  ["a stop", { type: "content_block_stop", index: 0 }],
])("%s of a block is a partial frame without an id", (_, piece) => {
  const frame = partialFrame(piece, uuid(2));
  expect(frame).toEqual({ event: "partial", data: { ...piece, uuid: uuid(2) } });
  StreamEvent.parse(frame);
});

test("a signature delta makes no partial frame, and a redacted thinking block is sent with the type thinking", () => {
  const signature = { type: "content_block_delta", index: 1, delta: { type: "signature_delta", signature: "x" } };
  expect(partialFrame(signature, uuid(2))).toBeUndefined();
  const redacted = { type: "content_block_start", index: 0, content_block: { type: "redacted_thinking", data: "x" } };
  const frame = partialFrame(redacted, uuid(2));
  StreamEvent.parse(frame);
  expect(frame?.data).toMatchObject({
    content_block: { type: "thinking", block_type: "redacted_thinking", data: "x" },
  });
});

test.each(["message_start", "message_delta", "message_stop", "ping"])("%s makes no partial frame", (type) => {
  expect(partialFrame({ type }, uuid(2))).toBeUndefined();
});

test.each([
  [frameId(session, 7), { sessionId: session, sequence: 7 }],
  [frameId(session, 7).toUpperCase(), { sessionId: session, sequence: 7 }],
  ["7", { sessionId: undefined, sequence: 7 }],
  ["abc", undefined],
  ["-1", undefined],
  [`${session}:`, undefined],
  ["7\n8", undefined],
])("the frame id %j is parsed as %j", (id, place) => {
  expect(placeOfFrame(id)).toEqual(place);
});
