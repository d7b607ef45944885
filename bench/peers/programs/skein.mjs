import { createAgent, defineTool } from "skein";
import { z } from "zod";
import { DESCRIPTION, MODEL, TOOL, add, folder, prompt, run, simulator } from "./harness.mjs";

const tool = defineTool({
  name: TOOL,
  description: DESCRIPTION,
  input: z.object({ a: z.number(), b: z.number() }),
  run: add,
});
const inMemory = process.env.STORE === "memory";
const store = inMemory ? "memory:" : `sqlite:${folder}/skein.db`;
const agent = createAgent({ name: "Bench", model: MODEL, apiKey: "bench", baseUrl: simulator, store, tools: [tool] });

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
