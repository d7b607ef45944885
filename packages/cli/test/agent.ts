/** The agent of these tests, as a user would write it for `skein run --agent`. */
import { createAgent, defineTool } from "skein";
import { z } from "zod";

const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => a + b,
});

const say = defineTool({
  name: "say",
  description: "Says it back.",
  input: z.object({ text: z.string() }),
  run: ({ text }) => text,
});

const deploy = defineTool({
  name: "deploy",
  description: "Deploys.",
  input: z.object({ to: z.string() }),
  needsApproval: true,
  run: ({ to }) => `deployed to ${to}`,
});

const pick = defineTool({
  name: "pick",
  description: "Lets the person pick.",
  input: z.object({ of: z.array(z.string()) }),
  executor: "frontend",
});

const stubborn = defineTool({
  name: "stubborn",
  description: "Does not listen, and keeps the process busy.",
  input: z.object({}),
  run: () => new Promise((resolve) => setTimeout(resolve, 60_000)),
});

export const agent = createAgent({ name: "Tester", tools: [add, say, deploy, pick, stubborn] });
