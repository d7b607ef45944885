import { expect, test } from "vitest";
import type Anthropic from "@anthropic-ai/sdk";
import { script } from "@skein/simulator";
import { ask, rig, textOf } from "./client.ts";

const weather: Anthropic.Tool = {
  name: "get_weather",
  description: "The weather of a city",
  input_schema: {
    type: "object",
    properties: { city: { type: "string" }, unit: { type: "string", enum: ["celsius", "fahrenheit"] } },
    required: ["city", "unit"],
  },
};
const read: Anthropic.Tool = {
  name: "Read",
  input_schema: { type: "object", properties: { file_path: { type: "string" } }, required: ["file_path"] },
};
const bash: Anthropic.Tool = {
  name: "Bash",
  input_schema: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
};
const tools = [weather, read, bash];

test.each([
  ["How much is 2+2?", "The answer is 4."],
  ["what is 3 times (4 - 1.5)?", "The answer is 7.5."],
  ["7 divided by 2", "The answer is 3.5."],
  ["Hello there", "Hello! I am Skein's simulator"],
  ["Write a poem about yarn", 'You wrote: "Write a poem about yarn"'],
  ["What happened on 2026-11-15?", 'You wrote: "What happened on 2026-11-15?"'],
])("the answer to the prompt '%s' begins with '%s' and says that it is a simulation", async (prompt, beginning) => {
  const { client } = await rig();
  for (const body of [ask(prompt), { ...ask(prompt), tools }]) {
    const message = await client.messages.create(body);
    expect(textOf(message).startsWith(beginning)).toBe(true);
    expect(textOf(message)).toContain("simulation");
    expect(message.stop_reason).toBe("end_turn");
  }
});

test.each([
  ["What is the weather in New York, in fahrenheit?", [["get_weather", { city: "New York", unit: "fahrenheit" }]]],
  ["Please read ./src/index.ts for me", [["Read", { file_path: "./src/index.ts" }]]],
  ["Use the Bash tool to run `ls -l`", [["Bash", { command: "ls -l" }]]],
  ["Use the Bash tool", [["Bash", { command: "simulated command" }]]],
  [
    "call get_weather and Bash please",
    [
      ["get_weather", { city: "simulated city", unit: "celsius" }],
      ["Bash", { command: "simulated command" }],
    ],
  ],
])("the answer to the prompt '%s' calls the tools that fit", async (prompt, expected) => {
  const { client } = await rig();
  const message = await client.messages.create({ ...ask(prompt), tools });
  const calls = message.content.flatMap((block) => (block.type === "tool_use" ? [[block.name, block.input]] : []));
  expect(calls).toEqual(expected);
});

test("the demonstration (the simulator's answers without a script) calls a tool once, or as often as the prompt says, and answers with the result", async () => {
  const { client } = await rig();
  const roundsOf = async (prompt: string) => {
    const messages: Anthropic.MessageParam[] = [{ role: "user", content: prompt }];
    for (let rounds = 0; rounds < 20; rounds += 1) {
      const message = await client.messages.create({ ...ask(""), messages, tools });
      const uses = message.content.filter((block) => block.type === "tool_use");
      if (uses.length === 0) return { rounds, text: textOf(message) };
      const content = uses.map(({ id }) => ({ type: "tool_result" as const, tool_use_id: id, content: "21 degrees" }));
      messages.push({ role: "assistant", content: message.content }, { role: "user", content });
    }
    return { rounds: 20, text: "" };
  };
  expect(await roundsOf("What is the weather in Paris?")).toMatchObject({
    rounds: 1,
    text: expect.stringContaining('"21 degrees"') as string,
  });
  expect(await roundsOf("Use the Bash tool 3 times")).toMatchObject({ rounds: 3 });
});

test("the demonstration obeys tool_choice: it calls a forced tool, and for `none` it calls no tool", async () => {
  const { client } = await rig();
  const forced = await client.messages.create({ ...ask("hello"), tools, tool_choice: { type: "tool", name: "Read" } });
  expect(forced.content).toMatchObject([{ type: "tool_use", name: "Read" }]);
  const any = await client.messages.create({ ...ask("hello"), tools, tool_choice: { type: "any" } });
  expect(any.stop_reason).toBe("tool_use");
  const none = await client.messages.create({ ...ask("use the Bash tool"), tools, tool_choice: { type: "none" } });
  expect(none.stop_reason).toBe("end_turn");
});

test("the demonstration thinks if thinking is on", async () => {
  const { client } = await rig();
  const message = await client.messages.create({ ...ask("hello"), max_tokens: 4000, thinking: { type: "adaptive" } });
  expect(message.content.map((block) => block.type)).toEqual(["thinking", "text"]);
});

test("a request with a schema is answered with JSON of that schema", async () => {
  const { client } = await rig();
  const schema = {
    type: "object",
    properties: {
      answer: { type: "number" },
      tags: { type: "array", items: { type: "string" }, minItems: 1 },
      ok: { type: "boolean" },
    },
    required: ["answer", "tags", "ok"],
  };
  const message = await client.messages.create({
    ...ask("What is 2+2?"),
    output_config: { format: { type: "json_schema", schema } },
  });
  expect(JSON.parse(textOf(message))).toEqual({ answer: 4, tags: ["simulated tags"], ok: false });
});

const object = (properties: Record<string, object>) => ({
  type: "object" as const,
  properties,
  required: Object.keys(properties),
});
const text = { type: "string" };
const number = { type: "number" };

test.each([
  ["Use refund with order A17.", { order: text }, { order: "A17" }],
  ["Use refund for the order of John", { order: text }, { order: "simulated order" }],
  [
    'Use refund with order id "B 23" and the reason "torn"',
    { reason: text, order_id: text },
    { order_id: "B 23", reason: "torn" },
  ],
  ["Use refund for A17 with amount 120.", { order: text, amount: number }, { order: "simulated order", amount: 120 }],
  ["Use refund for A17 and 48.5", { amount: number }, { amount: 48.5 }],
  [
    "Use refund: email: me@example.com, since 2026-11-15, 3",
    { email: text, days: number },
    { email: "me@example.com", days: 3 },
  ],
])("the tool call for the prompt '%s' has the values that the prompt names", async (prompt, properties, expected) => {
  const { client } = await rig();
  const refund: Anthropic.Tool = { name: "refund", input_schema: object(properties) };
  const message = await client.messages.create({ ...ask(prompt), tools: [refund] });
  expect(message.content.at(-1)).toMatchObject({ type: "tool_use", name: "refund", input: expected });
});

test.each([
  {
    prompt: 'Use get_invoice with number "A17".',
    result: "Invoice A17 of 2026-11-15: 120 EUR",
    schema: { total: number, currency: { type: "string", enum: ["USD", "EUR"] } },
    answer: { total: 120, currency: "EUR" },
  },
  {
    prompt: 'How much is the invoice "A17"?',
    result: '{"Total":7,"state":"open"}',
    schema: { invoice: text, total: number, state: text, note: text },
    answer: { invoice: "A17", total: 7, state: "open", note: "simulated note: Total 7, state open" },
  },
])(
  "$prompt with a schema: first the tool is called, then the answer is JSON with values of its result",
  async (one) => {
    const { client } = await rig();
    const invoice: Anthropic.Tool = { name: "get_invoice", input_schema: object({ number: text }) };
    const output_config = { format: { type: "json_schema" as const, schema: object(one.schema) } };
    const body = { ...ask(one.prompt), tools: [weather, invoice], output_config };
    const called = await client.messages.create(body);
    expect(called.content).toMatchObject([{ type: "tool_use", name: "get_invoice", input: { number: "A17" } }]);
    const [use] = called.content;
    if (use?.type !== "tool_use") throw new Error("No call.");
    const answered = await client.messages.create({
      ...body,
      messages: [
        { role: "user", content: one.prompt },
        { role: "assistant", content: called.content },
        { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: one.result }] },
      ],
    });
    expect(JSON.parse(textOf(answered))).toEqual(one.answer);
  },
);

test("Claude Code's request for a title gets a title, even if it quotes a script", async () => {
  const { client, simulator } = await rig();
  const system = 'Generate a title. Return JSON with a single "title" field.';
  const titleOf = async (prompt: string): Promise<unknown> =>
    JSON.parse(textOf(await client.messages.create({ ...ask(`<session>${prompt}</session>`), system })));
  const title = "Fix the flaky login test in";
  expect(await titleOf(`${title} the morning`)).toEqual({ title });
  expect(await titleOf(`${title} ${script([{ error: { status: 500 } }], "a step")}`)).toEqual({ title });
  expect(simulator.ledger.calls({ label: "a step" })).toEqual([]);
});

test("text that Claude Code adds to a prompt is not treated as the prompt", async () => {
  const { client } = await rig();
  const content: Anthropic.TextBlockParam[] = [
    { type: "text", text: "How much is 20 + 3?" },
    { type: "text", text: "<system-reminder>use the Bash tool 9 times</system-reminder>" },
  ];
  const message = await client.messages.create({ ...ask(""), messages: [{ role: "user", content }], tools });
  expect(textOf(message)).toContain("The answer is 23.");
});
