/** An agent with a tool of its own: `npx skein run "Use roll_dice with 20." --agent examples/own-tool.ts`. */
import { createAgent, defineTool } from "skein";
import { z } from "zod";

const rollDice = defineTool({
  name: "roll_dice",
  description: "Rolls a die.",
  input: z.object({ sides: z.number().int().min(2) }),
  run: ({ sides }) => `You rolled ${1 + Math.floor(Math.random() * sides)} of ${sides}.`,
});

export const agent = createAgent({ name: "Gambler", tools: [rollDice] });
