import OpenAI from "openai";
import { expect, test } from "vitest";
import { EVERYTHING, PIXEL, READ_SCHEMA, play, rig } from "./clients.ts";

type Body = OpenAI.Responses.ResponseCreateParamsNonStreaming;
type Item = OpenAI.Responses.ResponseInputItem;

const TOOLS: OpenAI.Responses.Tool[] = [
  { type: "function", name: "read", parameters: READ_SCHEMA, strict: false },
  { type: "function", name: "list", parameters: { type: "object", properties: {} }, strict: false },
];

const ask = (input: NonNullable<Body["input"]>, more: Partial<Body> = {}): Body => ({
  model: "gpt-6",
  input,
  tools: TOOLS,
  store: false,
  include: ["reasoning.encrypted_content"],
  ...more,
});

/** A response without the fields that differ in every response. */
const shapeOf = (response: OpenAI.Responses.Response) =>
  response.output.map((item) => ({
    type: item.type,
    ...(item.type === "message" && { content: item.content }),
    ...(item.type === "reasoning" && { summary: item.summary }),
    ...(item.type === "function_call" && { name: item.name, arguments: item.arguments }),
  }));

test("a response has the same items with and without streaming", async () => {
  const { openai } = await rig();
  const whole = await openai.responses.create(ask(play(EVERYTHING)));
  const streamed = await openai.responses.stream(ask(play(EVERYTHING)) as never).finalResponse();
  expect(whole.output.map(({ type }) => type)).toEqual(["reasoning", "message", "function_call", "function_call"]);
  expect(whole.output_text).toBe(EVERYTHING.text);
  expect(shapeOf(streamed as never)).toMatchObject(shapeOf(whole));
  expect(streamed.usage).toEqual(whole.usage);
});

test("the events of a stream are named, numbered and in the order of the API", async () => {
  const { openai } = await rig();
  const types: string[] = [];
  const numbers: number[] = [];
  const step = { thinking: "hm", text: "hello", tools: [{ name: "list" }] };
  for await (const event of await openai.responses.create({ ...ask(play(step)), stream: true })) {
    types.push(event.type);
    numbers.push(event.sequence_number);
  }
  expect(numbers).toEqual(numbers.map((_, index) => index));
  expect(types).toEqual([
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.done",
    "response.reasoning_summary_part.done",
    "response.output_item.done",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.output_item.added",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.output_item.done",
    "response.completed",
  ]);
});

test("a turn continues if all its items are sent back, with reasoning unchanged", async () => {
  const { openai } = await rig();
  const prompt = play({ thinking: "hm", tools: [{ name: "read", input: { path: "a" } }] }, { text: "It says $LAST" });
  const first = await openai.responses.create(ask(prompt));
  const call = first.output.find((item) => item.type === "function_call");
  const result: Item = {
    type: "function_call_output",
    call_id: call?.call_id ?? "",
    output: [
      { type: "input_text", text: "hello" },
      { type: "input_image", image_url: `data:image/png;base64,${PIXEL}`, detail: "auto" },
    ],
  };
  const input = [{ role: "user", content: prompt } as Item, ...(first.output as Item[]), result];
  expect((await openai.responses.create(ask(input))).output_text).toBe("It says hello");

  const changed = input.map((item) =>
    item.type === "reasoning" ? { ...item, encrypted_content: `${item.encrypted_content}x` } : item,
  );
  await expect(openai.responses.create(ask(changed))).rejects.toMatchObject({ code: "invalid_encrypted_content" });
  const alone = input.filter((item) => item.type !== "function_call" && item.type !== "function_call_output");
  await expect(openai.responses.create(ask(alone))).rejects.toThrow("without its required following item");
});

test("usage counts the cached prefix in the input and the reasoning in the output", async () => {
  const { openai, simulator } = await rig();
  const long = ask(play({ thinking: "x".repeat(40), text: "y".repeat(8) }), { instructions: "z".repeat(8000) });
  await openai.responses.create(long);
  const { usage } = await openai.responses.create(long);
  const counted = simulator.ledger.calls().at(-1)?.usage;
  expect(counted?.cache_read_input_tokens).toBeGreaterThan(2000);
  expect(usage).toMatchObject({
    input_tokens: (counted?.input_tokens ?? 0) + (counted?.cache_read_input_tokens ?? 0),
    input_tokens_details: { cached_tokens: counted?.cache_read_input_tokens, cache_write_tokens: 0 },
    output_tokens: 12,
    output_tokens_details: { reasoning_tokens: 10 },
  });
});

test("an answer that was cut short is incomplete, with the reason", async () => {
  const { openai } = await rig();
  const cut = await openai.responses.create(ask(play({ text: "x".repeat(100) }), { max_output_tokens: 5 }));
  expect(cut).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
  const refused = await openai.responses.create(ask(play({ text: "No.", stop: "refusal" })));
  expect(refused).toMatchObject({ status: "incomplete", incomplete_details: { reason: "content_filter" } });
});

const user: Item = { role: "user", content: "hi" };
const call: Item = { type: "function_call", call_id: "call_1", name: "read", arguments: "{}" };
test.each<[string, Partial<Body>, string]>([
  ["a temperature above its range", { temperature: 2.1 }, "Expected a value <= 2, but got 2.1 instead"],
  ["a call without its output", { input: [user, call] }, "No tool output found for function call call_1."],
  [
    "an output without its call",
    { input: [user, { type: "function_call_output", call_id: "call_2", output: "x" }] },
    "No tool call found for function call output with call_id call_2.",
  ],
  ["an item that is not stored", { input: [user, { type: "item_reference", id: "rs_1" }] }, "Items are not persisted"],
  [
    "a response that is not stored",
    { previous_response_id: "resp_1" },
    "Previous response with id 'resp_1' not found.",
  ],
  ["an unknown parameter", { foo: 1 } as object, "Unknown parameter: 'foo'"],
  ["an id that is too long", { input: [user, { ...call, call_id: "c".repeat(65) }] }, "maximum length 64"],
  ["an unknown effort", { reasoning: { effort: "huge" as "high" } }, "Invalid value: 'huge'"],
])("a request that OpenAI would reject is rejected: %s", async (_, more, sentence) => {
  const { openai } = await rig();
  await expect(openai.responses.create(ask("hi", more))).rejects.toThrow(sentence);
});
