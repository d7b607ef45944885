/** Servers that speak Chat Completions differ from OpenAI's, but the resulting answer is the same. */
import { createAnswerStream } from "@skein/core";
import { createOpenAiCompatibleModel } from "@skein/adapters/models/openai-compatible";
import { sampleCall } from "@skein/core/testing";
import { isToolUse, textOf } from "@skein/protocol";
import { type Simulator, type Step, createSimulator, script } from "@skein/simulator";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createChunkReader } from "../src/models/openai-compatible/chunks.ts";

let simulator: Simulator;
beforeAll(async () => {
  simulator = await createSimulator();
});
afterAll(() => simulator.close());

const NAME = "openai-compatible/llama";
const TOOLS = [
  { name: "read", description: "", input_schema: { type: "object" } },
  { name: "list", description: "", input_schema: { type: "object" } },
];
const STEP: Step = {
  thinking: "Thinking aloud.",
  text: "Two calls.",
  tools: [
    { name: "read", input: { path: "a.txt" } },
    { name: "list", input: { path: "b" } },
  ],
  chunk: 3,
};

const model = (quirks: Parameters<typeof createOpenAiCompatibleModel>[0]["quirks"] = {}) =>
  createOpenAiCompatibleModel({ modelName: "llama", url: `${simulator.url}/v1/`, apiKey: "none", quirks });

let labels = 0;
const callOf = (...steps: readonly Step[]) =>
  sampleCall({
    model: NAME,
    tools: TOOLS,
    thinkingTokens: 5000,
    turns: [{ role: "user", content: script(steps, `quirks ${++labels}`) }],
  });
const never = new AbortController().signal;

test.each([
  ["calls without an index", { index: "missing" }],
  ["calls that all have the index 0", { index: "zero" }],
  ["calls without an id", { id: "missing" }],
  ["calls with neither an index nor an id", { index: "missing", id: "missing" }],
  ["whole calls in one chunk", { wholeCalls: true }],
  ["whole calls without an index", { wholeCalls: true, index: "missing" }],
  ["calls whose pieces alternate", { interleaved: true }],
  ["arguments that are objects", { objectArguments: true }],
  ["reasoning in `reasoning`", { reasoning: ["reasoning"] }],
  ["reasoning in `reasoning_text`", { reasoning: ["reasoning_text"] }],
  ["reasoning in `reasoning_details`", { reasoning: ["reasoning_details"] }],
  ["reasoning in two fields", { reasoning: ["reasoning_content", "reasoning"] }],
  ["a finish reason `stop` although there are calls", { stopBesideCalls: true }],
  ["usage in the chunk with the finish reason", { usage: "last" }],
  ["cached tokens as DeepSeek counts them", { cached: "prompt_cache_hit_tokens" }],
] as const)(
  "%s: both calls, the thinking and the counts arrive, and the next request is accepted",
  async (_, quirks) => {
    const call = callOf({ ...STEP, quirks }, { text: "Done: $LAST" });
    const reply = await model().call(call, () => {}, never);
    expect(reply.content.filter(isToolUse).map(({ name, input }) => ({ name, input }))).toEqual(STEP.tools);
    expect(new Set(reply.content.filter(isToolUse).map(({ id }) => id)).size).toBe(2);
    expect(reply.content.flatMap(({ thinking }) => (typeof thinking === "string" ? [thinking] : [])).join("")).toBe(
      STEP.thinking,
    );
    expect(reply.stopReason).toBe("tool_use");
    expect(reply.usage.output_tokens).toBeGreaterThan(0);
    expect(reply.estimated).toBeUndefined();
    const results = reply.content
      .filter(isToolUse)
      .map(({ id }, at) => ({ type: "tool_result", tool_use_id: id, content: `result ${at}` }));
    const turns = [
      ...call.turns,
      { role: "assistant" as const, content: [...reply.content] },
      { role: "user" as const, content: results },
    ];
    expect(textOf([...(await model().call({ ...call, turns }, () => {}, never)).content])).toBe("Done: result 1");
  },
);

test("the usage of an answer without token counts is estimated, is marked as estimated, and has no price", async () => {
  const { usage, estimated } = await model().call(
    callOf({ text: "x".repeat(400), quirks: { usage: "missing" } }),
    () => {},
    never,
  );
  expect({ usage, estimated }).toEqual({ usage: { input_tokens: 0, output_tokens: 100 }, estimated: true });
});

test("contradictory token counts are ignored", async () => {
  const call = callOf({
    text: "Hello.",
    usage: { input_tokens: -500, cache_read_input_tokens: 900 },
  });
  expect((await model().call(call, () => {}, never)).estimated).toBe(true);
});

test("reasoning details are sent back unchanged, and reasoning text is sent back only if the server requires it", async () => {
  const call = callOf({ thinking: "Aloud.", text: "Hm.", quirks: { reasoning: ["reasoning_details"] } });
  const { content } = await model().call(call, () => {}, never);
  const next = { ...call, turns: [...call.turns, { role: "assistant" as const, content: [...content] }] };
  const sent = (quirks: Parameters<typeof model>[0]) =>
    (model(quirks).prepare(next).body["messages"] as readonly Record<string, unknown>[]).at(-1);
  expect(sent({})).toMatchObject({ content: "Hm.", reasoning_details: [{ type: "reasoning.text", text: "Aloud." }] });
  expect(sent({ reasoning_back: "reasoning_content" })).toMatchObject({ reasoning_content: "Aloud." });
});

test.each([
  ["reasoning_effort", { reasoning_effort: "medium" }],
  ["reasoning", { reasoning: { effort: "medium" } }],
  ["thinking", { thinking: { type: "enabled" } }],
  ["enable_thinking", { enable_thinking: true }],
  ["chat_template_kwargs", { chat_template_kwargs: { enable_thinking: true } }],
] as const)("with the quirk %s, a request for thinking has the fields of that quirk", (thinking, fields) => {
  expect(model({ thinking }).prepare(callOf({ text: "" })).body).toMatchObject(fields);
});

test("the quirks (settings for one server) for token limit, system role, tool results and stream options change the request", () => {
  const turns = [
    { role: "user" as const, content: "Hi." },
    { role: "assistant" as const, content: [{ type: "tool_use", id: "c1", name: "read", input: {} }] },
    { role: "user" as const, content: [{ type: "tool_result", tool_use_id: "c1", content: "x" }] },
  ];
  const call = { ...callOf(), system: "Be brief.", turns };
  const quirks = { max_tokens_field: "max_completion_tokens", system_role: "developer", named_results: true } as const;
  expect(model({ ...quirks, no_stream_options: true }).prepare(call).body).toMatchObject({
    max_completion_tokens: 1000,
    messages: [
      { role: "developer" },
      { role: "user" },
      { role: "assistant", content: null },
      { role: "tool", name: "read" },
    ],
  });
  expect(model({ no_stream_options: true }).prepare(call).body).not.toHaveProperty("stream_options");
});

test("the error for a web page at the address of a model names the problem, and the page is requested at most twice", async () => {
  const asked = model().call(callOf({ text: "", instead: { body: "html" } }), () => {}, never);
  await expect(asked).rejects.toMatchObject({
    failure: { code: "no_model", message: expect.stringMatching(/^A web page answered at .*Check the address/) },
    mostRetries: 1,
  });
});

/** Returns the answer that is read from these deltas. */
function answerOf(deltas: readonly object[], finish_reason = "stop") {
  const reader = createChunkReader(
    createAnswerStream({ model: NAME }, () => {}),
    (at) => `own_${at}`,
  );
  for (const delta of deltas) reader.add(JSON.stringify({ choices: [{ index: 0, delta }] }));
  const usage = { prompt_tokens: 10, completion_tokens: 5 };
  reader.add(JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason }], usage }));
  return reader.end();
}
const ONE = { name: "read", arguments: '{"path":"a"}' };
const TWO = { name: "list", arguments: '{"path":"b"}' };

test.each([
  [
    "the index is null",
    [
      { index: null, id: null, function: ONE },
      { index: null, id: null, function: TWO },
    ],
  ],
  [
    "every index is 0, without ids",
    [
      { index: 0, function: ONE },
      { index: 0, function: TWO },
    ],
  ],
  [
    "every id is the same",
    [
      { index: 0, id: "call_1", function: ONE },
      { index: 1, id: "call_1", function: TWO },
    ],
  ],
  [
    "every id is the same, without indexes",
    [
      { id: "call_1", function: ONE },
      { id: "call_1", function: TWO },
    ],
  ],
  [
    "each delta repeats id and name",
    ['{"path"', ':"a"}', ""]
      .map((input): object => ({ index: 0, id: "x", function: { ...ONE, arguments: input } }))
      .concat({ index: 1, id: "y", function: TWO }),
  ],
] as const)("two calls are distinguished if %s", (_, deltas) => {
  const calls = answerOf(deltas.map((delta) => ({ tool_calls: [delta] }))).content.filter(isToolUse);
  expect(calls.map(({ name, input }) => ({ name, input }))).toEqual([
    { name: "read", input: { path: "a" } },
    { name: "list", input: { path: "b" } },
  ]);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
});

test("calls without input at different indexes are two calls, even if they have the same id", () => {
  const call = (index: number, name: string) => ({ index, id: "call_1", function: { name, arguments: "" } });
  const { content } = answerOf([{ tool_calls: [call(0, "read"), call(1, "list")] }]);
  expect(content.filter(isToolUse).map(({ name }) => name)).toEqual(["read", "list"]);
});

test("content in parts, as Mistral sends it, becomes thinking and text", () => {
  const thinking = { type: "thinking", thinking: [{ type: "text", text: "Hm." }] };
  const { content } = answerOf([{ content: [thinking] }, { content: [{ type: "text", text: "Yes." }] }]);
  expect(content).toMatchObject([{ thinking: "Hm." }, { text: "Yes." }]);
});

test.each(["error", "abort", "insufficient_system_resource"])(
  "an answer with the finish reason %s is not complete, and its tokens are counted as the server reported them",
  (finish) => {
    let failure: unknown;
    try {
      answerOf([{ content: "Half" }], finish);
    } catch (error) {
      failure = error;
    }
    expect(failure).toMatchObject({ retryable: true, begun: { usage: { input_tokens: 10, output_tokens: 5 } } });
  },
);

test("the finish reason model_length means that the answer was truncated", () => {
  expect(answerOf([{ content: "Half" }], "model_length").stopReason).toBe("max_tokens");
});
