/** Typed answers (answers that must fit the agent's schema), on every kind of model. */
import { createModels } from "@skein/core";
import { type Simulator, type Step, createSimulator, script } from "@skein/simulator";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { type RunOptions, createAgent, openStore } from "skein";
import { afterAll, afterEach, beforeAll, expect, expectTypeOf, test, vi } from "vitest";
import { z } from "zod";

let simulator: Simulator;
beforeAll(async () => {
  simulator = await createSimulator();
});
afterAll(() => simulator.close());
afterEach(() => vi.unstubAllEnvs());

const Invoice = z.object({
  number: z.string().regex(/^[A-Z]\d+$/),
  total: z.number().positive(),
  currency: z.enum(["EUR", "USD"]).default("EUR"),
});
const RIGHT = '{"number":"A17","total":120}';
const WRONG = '{"number":"17","total":-1}';

let labels = 0;
type Options = { model?: string; max_tokens?: number; output?: z.ZodType; thinking_tokens?: number };
async function reader({ model = "claude-sonnet-5-5", output = Invoice, ...more }: Options = {}) {
  vi.stubEnv("OPENAI_API_KEY", "simulated");
  const store = await openStore("memory:");
  const url = `${simulator.url}/v1`;
  const models = createModels({ records: store.records });
  await models.add({ name: "openai/gpt-6", settings: { url } });
  const own = { url, key_env: "OPENAI_API_KEY" };
  await models.add({ name: "openai-compatible/llama", settings: own });
  await models.add({ name: "openai-compatible/toolless", settings: { ...own, abilities: { tools: false } } });
  await models.add({ name: "openai/no-schemas", settings: { url, abilities: { output: false } } });
  const messages = { adapter: "anthropic" as const, url: simulator.url, model_name: "glm" };
  await models.add({ name: "elsewhere/messages", settings: { ...messages, abilities: { output: false } } });
  const agent = createAgent({
    name: "Reader",
    model,
    output: output as typeof Invoice,
    models: {
      "ai/llama": createOpenAICompatible({ name: "ai", baseURL: url, apiKey: "k", includeUsage: true })("llama"),
    },
    store,
    baseUrl: simulator.url,
    apiKey: "simulated",
    ...more,
  });
  const label = `typed ${++labels}`;
  const play = (steps: readonly Step[], options: RunOptions = {}) => agent.run(script(steps, label), options);
  const run = (...texts: readonly string[]) => play(texts.map((text): Step => ({ text })));
  const asked = () => simulator.ledger.calls({ label }).map(({ request }) => request as Record<string, unknown>);
  return { agent, label, play, run, asked, close: () => agent.close().then(() => store.close()) };
}

const CLOSED = {
  type: "object",
  properties: { number: { type: "string" }, total: { type: "number" }, currency: { enum: ["EUR", "USD"] } },
  additionalProperties: false,
};

test.each([
  ["claude-sonnet-5-5", { output_config: { format: { type: "json_schema", schema: CLOSED } } }],
  ["openai/gpt-6", { text: { format: { type: "json_schema", name: "answer", schema: CLOSED, strict: false } } }],
  [
    "openai-compatible/toolless",
    { messages: [{ role: "system", content: expect.stringContaining('"exclusiveMinimum":0') }, {}] },
  ],
])(
  "%s gets the schema in the form of its API, and the result has the typed answer with defaults",
  async (model, request) => {
    const { run, asked, close } = await reader({ model });
    const { output, finalAnswer, error } = await run(RIGHT);
    expectTypeOf(output).toEqualTypeOf<z.infer<typeof Invoice> | null>();
    expect({ output, finalAnswer, error }).toEqual({
      output: { number: "A17", total: 120, currency: "EUR" },
      finalAnswer: RIGHT,
      error: null,
    });
    expect(asked()).toMatchObject([request]);
    // Providers reject limits such as `exclusiveMinimum` in a schema, so Skein writes limits into the description.
    expect(JSON.stringify(asked()).includes("exclusiveMinimum")).toBe(model === "openai-compatible/toolless");
    await close();
  },
);

test("an answer that does not fit the schema goes back to the model with the reasons", async () => {
  const { run, asked, close } = await reader();
  expect((await run("I think it is A17.", WRONG, `\`\`\`json\n${RIGHT}\n\`\`\``)).output).toMatchObject({
    number: "A17",
  });
  const said = JSON.stringify(asked().at(-1)?.["messages"]);
  expect(said).toContain("The answer is not JSON.");
  expect(said).toMatch(/number: .*total: /);
  await close();
});

test("if no answer fits the schema, the run fails with the last answer and no output", async () => {
  const { run, asked, close } = await reader();
  expect(await run(WRONG)).toMatchObject({
    output: null,
    finalAnswer: WRONG,
    error: { code: "validation_failed" },
  });
  expect(asked()).toHaveLength(4);
  await close();
});

test("if an answer is truncated, the run fails", async () => {
  const { agent, close } = await reader({ max_tokens: 5 });
  const { error, output } = await agent.run(script([{ text: RIGHT.repeat(10) }], "cut off"));
  expect({ error, output }).toMatchObject({
    error: { code: "validation_failed", message: expect.stringContaining("max_tokens") },
    output: null,
  });
  await close();
});

test("a Standard Schema with a JSON Schema is accepted if its root is an object, and any other schema is rejected", async () => {
  const validate = (value: unknown) => ({ value: { doubled: (value as { n: number }).n * 2 } });
  const jsonSchema = { input: () => ({ type: "object", properties: { n: { type: "number" } }, required: ["n"] }) };
  const agent = createAgent({
    output: { "~standard": { validate, jsonSchema } },
    baseUrl: simulator.url,
    apiKey: "simulated",
  });
  expect((await agent.run(script([{ text: '{"n":21}' }], "standard"))).output).toEqual({ doubled: 42 });
  await agent.close();
  expect(() => createAgent({ output: { "~standard": { validate } } })).toThrow("can give its JSON Schema");
  expect(() => createAgent({ output: z.string() })).toThrow("root is an object");
});

const BY_TOOL = { tools: [{ name: "final_answer", input: JSON.parse(RIGHT) as Record<string, unknown> }] };
const THOUGHT = { thinking: "A17 it is.", text: "Here it is:", ...BY_TOOL };

test.each(["openai-compatible/llama", "openai/no-schemas", "elsewhere/messages", "ai/llama"])(
  "%s returns its answer through a tool; the log has the answer as text, and the session continues",
  async (model) => {
    const output =
      model === "ai/llama" ? Invoice.extend({ more: z.record(z.string(), z.string()).optional() }) : Invoice;
    const { agent, play, asked, close } = await reader({ model, output, thinking_tokens: 1024, max_tokens: 4000 });
    const first = await play([THOUGHT]);
    expect(first).toMatchObject({ output: { number: "A17", total: 120 }, error: null, stopReason: "end_turn" });
    expect(first.finalAnswer).toBe(`Here it is:\n${RIGHT}`);
    expect(first.totalSteps).toBe(1);
    const tools = asked()[0]?.["tools"] as Record<string, unknown>[];
    expect(JSON.stringify(tools)).toContain('"final_answer"');
    // No part of the answer tool's call is sent back to the provider, because the call has no result.
    const second = await play([{ text: "Not yet." }, { tools: [{ name: "final_answer", input: {} }] }, THOUGHT], {
      sessionId: first.sessionId,
    });
    expect(second).toMatchObject({ output: { number: "A17" }, error: null });
    const { items } = await (await agent.sessions()).messages(first.sessionId);
    expect(JSON.stringify(items)).not.toContain("tool_use");
    await close();
  },
);

test.each(["claude-sonnet-5-5", "openai/gpt-6", "ai/llama"])(
  "if %s rejects the schema, the run requests its answer through a tool from then on, and the log records this",
  async (model) => {
    const { agent, play, asked, close } = await reader({ model });
    const message = "Invalid schema for response_format 'answer': too many properties.";
    const error = { status: 400, type: "invalid_request_error", message, times: 1 };
    const { output, sessionId } = await play([{ error, ...THOUGHT }]);
    expect(output).toMatchObject({ number: "A17" });
    const asWhat = asked().map((request) => JSON.stringify(request).includes("final_answer"));
    expect(asWhat).toEqual([false, true]);
    const retried = (await (await agent.sessions()).events(sessionId)).find(
      ({ event_type }) => event_type === "step.retried",
    );
    expect(retried?.data).toMatchObject({ output: "tool", delay_ms: 0, error: { message } });
    await close();
  },
);

test("if a request is rejected for a reason other than its schema, it is sent once and fails with the provider's message", async () => {
  const { play, asked, close } = await reader();
  const error = { status: 400, type: "invalid_request_error", message: "max_tokens: too large." };
  expect(await play([{ error }])).toMatchObject({ error: { message: "max_tokens: too large." }, output: null });
  expect(asked()).toHaveLength(1);
  await close();
});

test("a complete object inside truncated JSON is not used as the answer", async () => {
  const { run, close } = await reader({ output: z.object({ a: z.object({}).loose().optional() }) });
  const { error, finalAnswer } = await run('Here it is: {"list": [{}');
  expect({ error, finalAnswer }).toMatchObject({
    error: { code: "validation_failed", message: expect.stringContaining("The answer is not JSON.") },
    finalAnswer: expect.stringContaining("Here it is"),
  });
  await close();
});

test("the drafts of a stream (pieces of an answer) have an object with the fields that have arrived so far", async () => {
  const { agent, label, close } = await reader();
  const partials: unknown[] = [];
  const steps = [{ text: '```json\n{"number":"A17","total":120,"currency":"USD"}\n```', chunk: 9 }];
  for await (const item of agent.stream(script(steps, label))) {
    if (item.event_type !== "message.delta") continue;
    expectTypeOf(item.partial?.total).toEqualTypeOf<number | undefined>();
    if (item.partial) partials.push(item.partial);
  }
  const distinct = [...new Set(partials.map((partial) => JSON.stringify(partial)))];
  expect(distinct).toEqual(["{}", '{"number":"A17"}', '{"number":"A17","total":120}', ...distinct.slice(3)]);
  expect(partials.at(-1)).toEqual({ number: "A17", total: 120, currency: "USD" });
  await close();
});

test("the number of objects that are made for the drafts of a long answer is linear in its length", async () => {
  const items = Array.from({ length: 4000 }, (_, at) => ({ id: at, name: `Name ${at}` }));
  const { agent, label, close } = await reader({
    output: z.object({ items: z.array(z.object({ id: z.number(), name: z.string() })) }),
    max_tokens: 60_000,
  });
  const made = new Set<object | undefined>();
  let drafts = 0;
  let last: unknown;
  for await (const item of agent.stream(script([{ text: JSON.stringify({ items }) }], label))) {
    if (!("partial" in item)) continue;
    drafts += 1;
    last = item.partial;
    for (const one of (last as { items?: object[] }).items ?? []) made.add(one);
  }
  expect(last).toEqual({ items });
  expect(drafts).toBeGreaterThan(100);
  // A draft has new objects for the item that grows and for new items, and shares the others with the draft before.
  expect(made.size).toBeLessThanOrEqual(drafts + items.length);
  await close();
});
