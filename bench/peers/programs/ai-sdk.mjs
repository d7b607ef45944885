import { createAnthropic } from "@ai-sdk/anthropic";
import { ToolLoopAgent, tool } from "ai";
import { z } from "zod";
import { DESCRIPTION, MODEL, TOOL, add, prompt, run, simulator } from "./harness.mjs";

const anthropic = createAnthropic({ baseURL: `${simulator}/v1`, apiKey: "bench" });
const inputSchema = z.object({ a: z.number(), b: z.number() });
const agent = new ToolLoopAgent({
  model: anthropic(MODEL),
  tools: { [TOOL]: tool({ description: DESCRIPTION, inputSchema, execute: add }) },
});

await run({
  turn: async () => {
    const { textStream } = await agent.stream({ prompt });
    for await (const piece of textStream) void piece;
  },
});
