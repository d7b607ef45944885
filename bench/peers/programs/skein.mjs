import { createAgent, defineTool } from "skein";
import { z } from "zod";
import { DESCRIPTION, MODEL, TOOL, adapter, add, folder, prompt, run, simulator } from "./harness.mjs";

/** The model of each adapter, on the simulator. */
const MODELS = {
  anthropic: async () => ({ model: MODEL, models: {} }),
  openai: async () => ({ model: "openai/gpt-6", models: { "openai/gpt-6": here("OPENAI_KEY") } }),
  "openai-compatible": async () => ({ model: "vllm/llama", models: { "vllm/llama": here("LLAMA_KEY") } }),
  "ai-sdk": async () => {
    const { createGoogle } = await import("@ai-sdk/google");
    const google = createGoogle({ baseURL: `${simulator}/v1beta`, apiKey: "bench" });
    return { model: "google/gemini-3-pro", models: { "google/gemini-3-pro": google("gemini-3-pro") } };
  },
};

function here(variable) {
  process.env[variable] = "bench";
  return { url: `${simulator}/v1`, key_env: variable };
}

const tool = defineTool({
  name: TOOL,
  description: DESCRIPTION,
  input: z.object({ a: z.number(), b: z.number() }),
  run: add,
});
const inMemory = process.env.STORE === "memory";
const store = inMemory ? "memory:" : `sqlite:${folder}/skein.db`;
const asked = await MODELS[adapter]();
const agent = createAgent({ name: "Bench", ...asked, apiKey: "bench", baseUrl: simulator, store, tools: [tool] });

await run({
  turn: () => agent.run(prompt),
  goOn: inMemory
    ? undefined
    : async () => {
        const [session] = (await (await agent.sessions()).list()).items;
        await agent.resume(session.id);
        await agent.close();
      },
});
