import { createProvider } from "@earendil-works/pi-ai";
import { anthropicMessagesApi } from "@earendil-works/pi-ai/api/anthropic-messages.lazy";
import { anthropicProvider } from "@earendil-works/pi-ai/providers/anthropic";
import { defineTool, init, setProvider, useModel, useTool } from "@flue/runtime";
import { sqlite, start } from "@flue/runtime/node";
import * as v from "valibot";
import { DESCRIPTION, MODEL, TOOL, add, folder, prompt, run, simulator } from "./harness.mjs";

setProvider(
  createProvider({
    id: "anthropic",
    auth: { apiKey: { name: "bench", resolve: async () => ({ auth: { apiKey: "bench" } }) } },
    models: anthropicProvider()
      .getModels()
      .map((model) => ({ ...model, baseUrl: simulator })),
    api: anthropicMessagesApi(),
  }),
);

const tool = defineTool({
  name: TOOL,
  description: DESCRIPTION,
  input: v.object({ a: v.number(), b: v.number() }),
  run: async ({ data }) => ({ output: await add(data) }),
});

function Bench() {
  useModel(`anthropic/${MODEL}`);
  useTool(tool);
  return "You add.";
}

await start({ agents: [Bench], db: sqlite(`${folder}/flue.db`) });

await run({
  turn: async (n) => {
    const handle = init(Bench, { id: `session-${n}` });
    await handle.read(await handle.dispatch(prompt));
  },
  // A new process finds interrupted work by itself.
  goOn: () => new Promise(() => setInterval(() => {}, 1000)),
});
