/** Answers that have a type, on every kind of model. */
import { createModels } from "@skein/core";
import { type Simulator, type Step, createSimulator, script } from "@skein/simulator";
import { createAgent, openStore } from "skein";
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
async function reader({ model = "claude-sonnet-5-5", ...more }: { model?: string; max_tokens?: number } = {}) {
  vi.stubEnv("OPENAI_API_KEY", "simulated");
  const store = await openStore("memory:");
  const url = `${simulator.url}/v1`;
  const models = createModels({ records: store.records });
  await models.add({ name: "openai/gpt-6", settings: { url } });
  await models.add({ name: "openai-compatible/llama", settings: { url, key_env: "OPENAI_API_KEY" } });
  const agent = createAgent({
    name: "Reader",
    model,
    output: Invoice,
    store,
    baseUrl: simulator.url,
    apiKey: "simulated",
    ...more,
  });
  const label = `typed ${++labels}`;
  const run = (...texts: readonly string[]) =>
    agent.run(
      script(
        texts.map((text): Step => ({ text })),
        label,
      ),
    );
  const asked = () => simulator.ledger.calls({ label }).map(({ request }) => request as Record<string, unknown>);
  return { agent, run, asked, close: () => agent.close().then(() => store.close()) };
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
    "openai-compatible/llama",
    { messages: [{ role: "system", content: expect.stringContaining('"exclusiveMinimum":0') }, {}] },
  ],
])("%s is asked for the type in its own way, and the result has it, defaults included", async (model, request) => {
  const { run, asked, close } = await reader({ model });
  const { output, finalAnswer, error } = await run(RIGHT);
  expectTypeOf(output).toEqualTypeOf<z.infer<typeof Invoice> | null>();
  expect({ output, finalAnswer, error }).toEqual({
    output: { number: "A17", total: 120, currency: "EUR" },
    finalAnswer: RIGHT,
    error: null,
  });
  expect(asked()).toMatchObject([request]);
  // Limits would be rejected by the grammars of providers; in words they are said.
  expect(JSON.stringify(asked()).includes("exclusiveMinimum")).toBe(model === "openai-compatible/llama");
  await close();
});

test("an answer that does not fit goes back to the model with the reasons", async () => {
  const { run, asked, close } = await reader();
  expect((await run("I think it is A17.", WRONG, `\`\`\`json\n${RIGHT}\n\`\`\``)).output).toMatchObject({
    number: "A17",
  });
  const said = JSON.stringify(asked().at(-1)?.["messages"]);
  expect(said).toContain("The answer is no JSON.");
  expect(said).toMatch(/number: .*total: /);
  await close();
});

test("an answer that never fits is a failed run with the last answer, and no output", async () => {
  const { run, asked, close } = await reader();
  expect(await run(WRONG)).toMatchObject({
    output: null,
    finalAnswer: WRONG,
    error: { code: "validation_failed" },
  });
  expect(asked()).toHaveLength(4);
  await close();
});

test("an answer that is cut off is no success", async () => {
  const { agent, close } = await reader({ max_tokens: 5 });
  const { error, output } = await agent.run(script([{ text: RIGHT.repeat(10) }], "cut off"));
  expect({ error, output }).toMatchObject({
    error: { code: "validation_failed", message: expect.stringContaining("max_tokens") },
    output: null,
  });
  await close();
});

test("any Standard Schema that can say its JSON Schema will do; others, and roots that are no object, are rejected", async () => {
  const validate = (value: unknown) => ({ value: { doubled: (value as { n: number }).n * 2 } });
  const jsonSchema = { input: () => ({ type: "object", properties: { n: { type: "number" } }, required: ["n"] }) };
  const agent = createAgent({
    output: { "~standard": { validate, jsonSchema } },
    baseUrl: simulator.url,
    apiKey: "simulated",
  });
  expect((await agent.run(script([{ text: '{"n":21}' }], "standard"))).output).toEqual({ doubled: 42 });
  await agent.close();
  expect(() => createAgent({ output: { "~standard": { validate } } })).toThrow("can say its JSON Schema");
  expect(() => createAgent({ output: z.string() })).toThrow("root is an object");
});
