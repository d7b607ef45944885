import { ToolLoopAgent, tool } from "ai";
import { z } from "zod";
import { DESCRIPTION, MODEL, TOOL, adapter, add, prompt, run, simulator } from "./harness.mjs";

const [baseURL, apiKey] = [`${simulator}/v1`, "bench"];

/** The provider for each API that Skein has an adapter for. */
const MODELS = {
  anthropic: async () => (await import("@ai-sdk/anthropic")).createAnthropic({ baseURL, apiKey })(MODEL),
  openai: async () => (await import("@ai-sdk/openai")).createOpenAI({ baseURL, apiKey }).responses("gpt-6"),
  "openai-compatible": async () => {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    return createOpenAICompatible({ name: "llama", baseURL, apiKey, includeUsage: true })("llama");
  },
  "ai-sdk": async () => {
    const { createGoogle } = await import("@ai-sdk/google");
    return createGoogle({ baseURL: `${simulator}/v1beta`, apiKey })("gemini-3-pro");
  },
};
const inputSchema = z.object({ a: z.number(), b: z.number() });
const agent = new ToolLoopAgent({
  model: await MODELS[adapter](),
  tools: { [TOOL]: tool({ description: DESCRIPTION, inputSchema, execute: add }) },
});

await run({
  turn: async () => {
    const { textStream } = await agent.stream({ prompt });
    for await (const piece of textStream) void piece;
  },
});
