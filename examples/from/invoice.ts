/** A program of docs/guides/from: an agent with a tool, and a typed answer. */
import { createAgent, defineTool } from "skein";
import { z } from "zod";

const agent = createAgent({
  model: "claude-sonnet-5-5",
  tools: [
    defineTool({
      name: "get_invoice",
      description: "The text of an invoice.",
      input: z.object({ number: z.string() }),
      run: ({ number }) => `Invoice ${number}: 120 EUR`,
    }),
  ],
  output: z.object({ total: z.number(), currency: z.enum(["EUR", "USD"]) }),
});

const { output } = await agent.run('How much is the invoice "A17"?');
console.log(output?.total, output?.currency);
await agent.close();
