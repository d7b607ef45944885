import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { EVERYTHING, PIXEL, READ_SCHEMA, play, rig } from "./clients.ts";

type Body = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, "stream">;
type ChatMessage = OpenAI.ChatCompletionMessageParam;

const TOOLS: OpenAI.ChatCompletionTool[] = [
  { type: "function", function: { name: "read", parameters: READ_SCHEMA } },
  { type: "function", function: { name: "list" } },
];

const ask = (prompt: string, more: Partial<Body> = {}): Body => ({
  model: "gpt-6",
  messages: [{ role: "user", content: prompt }],
  tools: TOOLS,
  ...more,
});

test("a completion becomes the same message with and without streaming", async () => {
  const { openai, simulator } = await rig();
  const whole = await openai.chat.completions.create(ask(play(EVERYTHING)));
  const streamed = await openai.chat.completions
    .stream({ ...ask(play(EVERYTHING)), stream_options: { include_usage: true } })
    .finalChatCompletion();
  const calls = (completion: OpenAI.ChatCompletion) =>
    completion.choices[0]?.message.tool_calls?.map((call) => call.type === "function" && call.function);
  expect(streamed.choices[0]?.message.content).toBe(EVERYTHING.text);
  expect(calls(streamed)).toMatchObject([
    { name: "read", arguments: JSON.stringify(EVERYTHING.tools?.[0]?.input) },
    { name: "list", arguments: "{}" },
  ]);
  expect(calls(whole)).toMatchObject([{ name: "read" }, { name: "list" }]);
  expect(whole.choices[0]).toMatchObject({ finish_reason: "tool_calls", message: { content: EVERYTHING.text } });
  expect(streamed.choices[0]?.finish_reason).toBe("tool_calls");
  expect(streamed.usage).toEqual(whole.usage);
  expect(simulator.ledger.calls().map(({ kind, stream }) => [kind, stream])).toEqual([
    ["chat", false],
    ["chat", true],
  ]);
});

test("usage counts the cached prefix in the prompt and the reasoning in the answer", async () => {
  const { openai, simulator } = await rig();
  const long = ask(play({ thinking: "x".repeat(40), text: "y".repeat(8) }), {
    messages: [
      { role: "system", content: "z".repeat(8000) },
      { role: "user", content: play({ thinking: "x".repeat(40), text: "y".repeat(8) }) },
    ],
  });
  await openai.chat.completions.create(long);
  const { usage } = await openai.chat.completions.create(long);
  const counted = simulator.ledger.calls().at(-1)?.usage;
  expect(counted?.cache_read_input_tokens).toBeGreaterThan(2000);
  expect(usage).toMatchObject({
    prompt_tokens: (counted?.input_tokens ?? 0) + (counted?.cache_read_input_tokens ?? 0),
    prompt_tokens_details: { cached_tokens: counted?.cache_read_input_tokens, cache_write_tokens: 0 },
    completion_tokens: 12,
    completion_tokens_details: { reasoning_tokens: 10 },
  });
});

test("a conversation continues with the results of its calls, and with images in user messages", async () => {
  const { openai } = await rig();
  const prompt = play({ tools: [{ name: "read", input: { path: "a" }, id: "call_1" }] }, { text: "It says $LAST" });
  const messages: ChatMessage[] = [
    { role: "developer", content: "Be brief." },
    {
      role: "user",
      content: [
        { type: "text", text: prompt },
        { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } },
      ],
    },
  ];
  const first = await openai.chat.completions.create(ask("", { messages }));
  const answer = first.choices[0]?.message;
  expect(answer?.tool_calls?.[0]?.id).toBe("call_1");
  if (answer) messages.push(answer);
  messages.push({ role: "tool", tool_call_id: "call_1", content: "hello" });
  const second = await openai.chat.completions.create(ask("", { messages }));
  expect(second.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "It says hello" } });
});

test.each([
  ["max_completion_tokens", { max_completion_tokens: 5 }, { text: "x".repeat(100) }, "length"],
  ["a refusal", {}, { text: "No.", stop: "refusal" as const }, "content_filter"],
  ["stop", { stop: ["STOP"] }, { text: "one STOP two" }, "stop"],
])("%s is reported by the finish reason", async (_, more, step, reason) => {
  const { openai } = await rig();
  const completion = await openai.chat.completions.create(ask(play(step), more));
  expect(completion.choices[0]?.finish_reason).toBe(reason);
});

describe("a request that OpenAI would reject is answered with a 400", () => {
  const call = { id: "call_1", type: "function", function: { name: "read", arguments: "{}" } } as const;
  const assistant: ChatMessage = { role: "assistant", content: null, tool_calls: [call] };
  const user: ChatMessage = { role: "user", content: "hi" };
  test.each<[string, object, string]>([
    ["a call without a result", { messages: [user, assistant, user] }, "did not have response messages: call_1"],
    [
      "a result without a call",
      { messages: [user, { role: "tool", tool_call_id: "call_2", content: "x" }] },
      "must be a response to a preceeding message with 'tool_calls'",
    ],
    ["an unknown parameter", { foo: 1 }, "Unknown parameter: 'foo'"],
    ["no messages", { messages: [] }, "empty array"],
    ["content of a wrong type", { messages: [{ role: "user", content: 7 }] }, "Invalid type for 'messages[0].content'"],
    ["a tool choice without tools", { tools: undefined, tool_choice: "required" }, "only allowed when 'tools'"],
    ["a temperature above its range", { temperature: 3 }, "Expected a value <= 2, but got 3 instead"],
    ["a top_p below its range", { top_p: -1 }, "Expected a value >= 0, but got -1 instead"],
    ["two limits", { max_tokens: 5, max_completion_tokens: 5 }, "at the same time is not supported"],
    ["stream options without a stream", { stream_options: { include_usage: true } }, "only allowed when 'stream'"],
    [
      "a strict schema that allows other properties",
      { response_format: { type: "json_schema", json_schema: { name: "a", strict: true, schema: READ_SCHEMA } } },
      "'additionalProperties' is required to be supplied and to be false",
    ],
    [
      "an image whose URL is not a URL",
      { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: PIXEL } }] }] },
      "Expected a base64-encoded data URL",
    ],
  ])("a request with %s is answered with a 400", async (_, more, sentence) => {
    const { openai, simulator } = await rig();
    const failed = openai.chat.completions.create(ask("hi", more));
    await expect(failed).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    await expect(failed).rejects.toThrow(sentence);
    expect(simulator.ledger.calls()[0]?.outcome).toBe("rejected");
  });
});

test("a request for an unknown route of OpenAI's API gets a 404 in OpenAI's format", async () => {
  const { openai } = await rig();
  const failed = openai.embeddings.create({ model: "e", input: "x" });
  await expect(failed).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  await expect(failed).rejects.toThrow("Invalid URL (POST /v1/embeddings)");
});

describe("quirks of other servers", () => {
  const chunks = async (quirks: object, more: object = {}) => {
    const { openai } = await rig();
    const body = ask(play({ ...EVERYTHING, quirks }), more);
    const seen: OpenAI.ChatCompletionChunk[] = [];
    const stream_options = { include_usage: true };
    for await (const chunk of await openai.chat.completions.create({ ...body, stream: true, stream_options }))
      seen.push(chunk);
    const deltas = seen.flatMap(({ choices }) => choices.map(({ delta }) => delta as Record<string, unknown>));
    const calls = deltas.flatMap(({ tool_calls }) => (tool_calls ?? []) as { index?: number; id?: string }[]);
    return { seen, deltas, calls };
  };

  test("each quirk changes the deltas of calls: their index, their id, their size, their order or their type", async () => {
    expect((await chunks({ index: "missing" })).calls.some((call) => "index" in call)).toBe(false);
    expect(new Set((await chunks({ index: "zero" })).calls.map(({ index }) => index))).toEqual(new Set([0]));
    expect((await chunks({ id: "missing" })).calls.some((call) => "id" in call)).toBe(false);
    expect((await chunks({ wholeCalls: true })).calls).toHaveLength(2);
    expect((await chunks({ interleaved: true })).calls.slice(0, 3).map(({ index }) => index)).toEqual([0, 1, 0]);
    expect((await chunks({ objectArguments: true })).calls[0]).toMatchObject({
      function: { arguments: { path: "a.txt" } },
    });
  });

  test.each(["reasoning_content", "reasoning", "reasoning_text"] as const)("reasoning is sent as %s", async (place) => {
    const { deltas } = await chunks({ reasoning: [place] });
    expect(deltas.map((delta) => (delta[place] as string | undefined) ?? "").join("")).toBe(EVERYTHING.thinking);
  });

  test("a step chooses whether usage comes with the finish reason, not at all, or as DeepSeek reports it", async () => {
    expect((await chunks({ usage: "last" })).seen.at(-1)).toMatchObject({
      choices: [{ finish_reason: "tool_calls" }],
      usage: { prompt_tokens: expect.any(Number) as number },
    });
    expect((await chunks({ usage: "missing" })).seen.some(({ usage }) => usage)).toBe(false);
    expect((await chunks({ cached: "prompt_cache_hit_tokens" })).seen.at(-1)?.usage).toMatchObject({
      prompt_cache_hit_tokens: 0,
    });
  });
});
