import { createAnthropic } from "@ai-sdk/anthropic";
import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { z } from "zod";
import { DESCRIPTION, MODEL, TOOL, add, folder, prompt, run, say, simulator } from "./harness.mjs";

const isDurable = process.env.DURABLE === "1";
const storage = new LibSQLStore({ id: "bench", url: `file:${folder}/mastra.db` });
const mastra = new Mastra({
  storage,
  logger: false,
  ...(isDurable && { recovery: { durableAgents: "auto" } }),
  agents: {
    bench: new Agent({
      id: "bench",
      name: "Bench",
      instructions: "You add.",
      model: createAnthropic({ baseURL: `${simulator}/v1`, apiKey: "bench" })(MODEL),
      memory: new Memory({ storage }),
      durable: isDurable,
      tools: {
        [TOOL]: createTool({
          id: TOOL,
          description: DESCRIPTION,
          inputSchema: z.object({ a: z.number(), b: z.number() }),
          outputSchema: z.number(),
          execute: (input) => add(input.context ?? input),
        }),
      },
    }),
  },
});
const agent = mastra.getAgent("bench");

await run({
  turn: async (n) => {
    const answer = await agent.stream(prompt, { memory: { thread: `thread-${n}`, resource: "bench" }, maxSteps: 5 });
    for await (const piece of (answer.output ?? answer).textStream) void piece;
  },
  goOn: isDurable ? async () => say(await mastra.recoverAllDurableAgents()) : undefined,
});
