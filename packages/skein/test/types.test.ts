import {
  type Await,
  type Content,
  type Event,
  type Failure,
  type FileStore,
  type GeneratedFile,
  type McpConnection,
  type AgentMemory,
  type PartialDraft,
  type Sessions,
  type Store,
  createAgent,
  defineTool,
} from "skein";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { scripted, simulatedAgent } from "../../core/test/loop/simulated.ts";

test("a tool with a JSON Schema can destructure its input like a tool with zod", async () => {
  const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const weather = defineTool({
    name: "weather",
    description: "The weather.",
    input: schema,
    needsApproval: ({ city }) => city === "nowhere",
    run: ({ city }) => `sunny in ${String(city)}`,
  });
  const typed = defineTool({
    name: "typed",
    description: "The weather.",
    input: z.object({ city: z.string(), days: z.number().default(1) }),
    run: ({ city, days }) => city.repeat(days),
  });
  const { agent } = await simulatedAgent({ tools: [weather, typed] });
  const calls = [
    { name: "weather", input: { city: "Rome" } },
    { name: "typed", input: { city: "Rome" } },
  ];
  const { conversationHistory } = await agent.run(scripted("typed", [{ tools: calls }, { text: "Done." }]));
  expect(JSON.stringify(conversationHistory[2]?.content)).toMatch(/sunny in Rome.*"Rome"/);
});

test("`validate` accepts each form of a result: a text, a boolean and a pair", () => {
  const Answer = z.object({ total: z.number() });
  createAgent({ validate: (answer) => (answer === "" ? "Say something." : undefined) });
  createAgent({ validate: (answer) => answer !== "" });
  createAgent({ validate: async (answer, { runs }) => [answer.length > runs, "Say more."] });
  createAgent({
    validate(answer) {
      const { success, error } = Answer.safeParse(answer);
      return [success, error?.message];
    },
  });
});

test("onEvent accepts a function for each type of event, with typed data", async () => {
  const { agent } = await simulatedAgent();
  const models: string[] = [];
  await agent.run(scripted("Listen", [{ text: "Hi." }]), {
    onEvent: {
      "step.generated": ({ data }) => {
        expectTypeOf(data.stop_reason).toEqualTypeOf<string | null>();
        models.push(data.model);
      },
    },
  });
  expect(models).toEqual(["claude-sonnet-5-5"]);
});

test("the types of an agent's parameters and results can be imported from skein", () => {
  const agent = createAgent();
  expectTypeOf(agent.stream).returns.toEqualTypeOf<AsyncIterable<Event | PartialDraft<unknown>>>();
  expectTypeOf(agent.run).parameter(0).toEqualTypeOf<Content>();
  expectTypeOf(agent.sessions).returns.resolves.toEqualTypeOf<Sessions>();
  type Result = Awaited<ReturnType<typeof agent.run>>;
  expectTypeOf<Result["error"]>().toEqualTypeOf<Failure | null>();
  expectTypeOf<Result["awaiting"][number]>().toEqualTypeOf<Await>();
  expectTypeOf<Result["generatedFiles"][number]>().toEqualTypeOf<GeneratedFile>();
  expectTypeOf<GeneratedFile["filename"]>().toEqualTypeOf<string>();
  type Options = NonNullable<Parameters<typeof createAgent>[0]>;
  expectTypeOf<Store>().toExtend<Options["store"]>();
  expectTypeOf<FileStore>().toExtend<Options["files"]>();
  expectTypeOf<AgentMemory>().toExtend<Options["memory"]>();
  expectTypeOf<McpConnection["tools"]>().toExtend<Options["tools"]>();
});
