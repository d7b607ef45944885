/** A final answer with a type. If an answer does not fit, the model gets it back with the reason. */
import { createAgent } from "skein";
import { z } from "zod";

const Invoice = z.object({
  number: z.string(),
  total: z.number().positive(),
  currency: z.enum(["EUR", "USD"]),
});

const agent = createAgent({ name: "Reader", output: Invoice });

const { output, error } = await agent.run('Invoice over 120 EUR with the number "A17".');
console.log(output ?? error);
await agent.close();
