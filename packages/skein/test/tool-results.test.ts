/** Results of tools with an output schema. They are checked and typed, and the model reads them as JSON. */
import type { Event } from "@skein/protocol";
import { createSimulator } from "@skein/simulator";
import { type Tool, createAgent, defineTool } from "skein";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { scripted, simulatedAgent } from "../../core/test/loop/simulated.ts";

const weather = (run: () => unknown) =>
  defineTool({
    name: "weather",
    description: "The weather in a city.",
    input: z.object({ city: z.string() }),
    output: z.object({ celsius: z.number(), sky: z.enum(["clear", "grey"]).default("clear") }),
    run: run as () => { celsius: number },
  });

const plain = defineTool({
  name: "plain",
  description: "Says hello.",
  input: z.object({}),
  run: () => "hello",
});

const CALLS = [
  { name: "weather", input: { city: "Lisbon" } },
  { name: "plain", input: {} },
];

async function answered(tool: Tool, more: Parameters<typeof simulatedAgent>[0] = {}) {
  const { agent, simulator } = await simulatedAgent({ tools: [tool, plain], ...more });
  const events: Event[] = [];
  const prompt = scripted("Weather", [{ tools: CALLS }, { text: "Seen: $LAST" }]);
  const result = await agent.run(prompt, { onEvent: (event) => void events.push(event) });
  const completed = events.flatMap((event) => (event.event_type === "tool.completed" ? [event.data] : []));
  completed.sort((one, other) => one.part - other.part);
  return { result, completed, asked: simulator.ledger.calls() };
}

test("a result that fits the schema gets its defaults; the model reads JSON, and the log and the result have `output`", async () => {
  const { result, completed, asked } = await answered(weather(() => ({ celsius: 21 })));
  const output = { celsius: 21, sky: "clear" };
  expect(completed[0]).toMatchObject({ is_error: false, output, content: JSON.stringify(output) });
  expect(completed[1]).not.toHaveProperty("output");
  expect(result.toolResults).toMatchObject([
    { name: "weather", isError: false, output, input: { city: "Lisbon" } },
    { name: "plain", isError: false, content: "hello" },
  ]);
  expect(JSON.stringify(asked.at(-1)?.request)).toContain(String.raw`{\"celsius\":21,\"sky\":\"clear\"}`);
});

test.each([
  [
    "has another type",
    () => ({ celsius: "warm" }),
    /celsius: .*expected number.*The tool returned: \{"celsius":"warm"\}/,
  ],
  ["is missing", () => undefined, /result: .*expected object.*The tool returned: undefined/],
  ["is a circle", circle, /celsius: .*cannot represent/],
])("if a result %s, the model reads an error, and the call has no output", async (_, run, sentence) => {
  const { result, completed, asked } = await answered(weather(run));
  expect(completed[0]).toMatchObject({
    is_error: true,
    outcome: "failed",
    content: expect.stringMatching(/^The tool has run, but its result does not fit its output schema\./),
  });
  expect(completed[0]?.content).toMatch(sentence);
  expect(completed[0]).not.toHaveProperty("output");
  expect(result).toMatchObject({ error: null, toolResults: [{ isError: true }, { isError: false }] });
  expect(JSON.stringify(asked.at(-1)?.request)).toContain("does not fit its output schema");
});

function circle(): unknown {
  const one: { celsius?: unknown } = {};
  one.celsius = one;
  return one;
}

test("a result that is too long for the model is an error, because shortened JSON is invalid", async () => {
  const long = defineTool({
    name: "weather",
    description: "Much.",
    input: { type: "object" },
    output: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    run: () => ({ text: "x".repeat(100_001) }),
  });
  const { completed } = await answered(long);
  expect(completed[0]).toMatchObject({ is_error: true, content: expect.stringContaining("may have 100000") });
});

test("a hook can change what the model reads, but not the output; a hook that rejects the result removes the output", async () => {
  const changed = await answered(
    weather(() => ({ celsius: 21 })),
    {
      hooks: { afterToolCall: ({ name }) => (name === "weather" ? { content: "warm" } : undefined) },
    },
  );
  expect(changed.completed[0]).toMatchObject({ content: "warm", output: { celsius: 21, sky: "clear" } });
  const refused = await answered(
    weather(() => ({ celsius: 21 })),
    {
      hooks: { afterToolCall: ({ name }) => (name === "weather" ? { refuse: "Not this." } : undefined) },
    },
  );
  expect(refused.completed[0]).toMatchObject({ content: "Not this.", is_error: true });
  expect(refused.completed[0]).not.toHaveProperty("output");
});

test("defineTool rejects an invalid output schema, and any output schema for a tool that the client runs", () => {
  const tool = { name: "t", description: "T.", input: { type: "object" }, run: () => 1 };
  expect(() => defineTool({ ...tool, output: "text" } as never)).toThrow("is not a schema");
  expect(() => defineTool({ ...tool, output: { type: "nothing" } })).toThrow("is not a JSON Schema");
  expect(() => defineTool({ ...tool, output: z.string(), executor: "frontend" } as never)).toThrow(
    "its result does not come from this process",
  );
});

test("after a check of the tool's name, results and events have the type of the tool's output", async () => {
  const simulator = await createSimulator();
  const tools = [weather(() => ({ celsius: 21 })), plain] as const;
  const agent = createAgent({ tools, baseUrl: simulator.url, apiKey: "simulated" });
  const skies: string[] = [];
  const { toolResults } = await agent.run(scripted("Typed", [{ tools: CALLS }, { text: "Done." }]), {
    onEvent: {
      "tool.completed": ({ data }) => {
        if (data.name === "weather" && !data.is_error) {
          expectTypeOf(data.output).toEqualTypeOf<{ celsius: number; sky: "clear" | "grey" }>();
          skies.push(data.output.sky);
        }
      },
    },
  });
  await agent.close();
  await simulator.close();
  for (const result of toolResults)
    if (result.name === "weather" && !result.isError) expectTypeOf(result.output.celsius).toEqualTypeOf<number>();
  expectTypeOf<(typeof toolResults)[number]["name"]>().toEqualTypeOf<"weather" | "plain">();
  expect(skies).toEqual(["clear"]);
  // @ts-expect-error The function must return the input type of the schema, which is a number.
  defineTool({ name: "n", description: "N.", input: z.object({}), output: z.number(), run: () => "one" });
});
