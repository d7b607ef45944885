import { type Records, createAgents, defineTool } from "@skein/core";
import { z } from "zod";
import type { ServedCode } from "./config-file.ts";

/** The tag of the agent that the console makes for the demo. */
const DEMO_TAG = "demo";

/** The only tool of the demo: it changes nothing, and asks for approval as a tool that moves money would. */
const demoRefund = defineTool({
  name: "demo_refund",
  description: "A demo: pretends to refund an order. It moves no money.",
  input: z.object({ order: z.string(), amount: z.number() }),
  needsApproval: true,
  run: ({ order, amount }) =>
    `Pretended to refund ${amount} for order ${order}. This tool is a demo and moves no money. Next, make an agent of your own on the page Agents. For answers of a real model, set ANTHROPIC_API_KEY and restart the server.`,
});

/**
 * The code of a server, with the demo's tool if the model is simulated. A server with a real model has the demo's tool
 * only if its store has an agent of the demo, so that a run that waits for an approval can still be completed.
 */
export async function withDemoTool(
  code: ServedCode,
  { records, isSimulated }: { readonly records: Records; readonly isSimulated: boolean },
): Promise<ServedCode> {
  if (!isSimulated) {
    const { items } = await createAgents({ records }).list({ tag: DEMO_TAG, limit: 1 });
    if (items.length === 0) return code;
  }
  return { ...code, tools: new Map([[demoRefund.name, demoRefund], ...code.tools]) };
}
