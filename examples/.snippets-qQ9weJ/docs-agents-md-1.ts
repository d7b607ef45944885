import { createAgent } from "skein";
import { z } from "zod";

const Invoice = z.object({
  number: z.string(),
  total: z.number().positive(),
  currency: z.enum(["EUR", "USD"]),
});

const agent = createAgent({
  name: "Reader",
  system_prompt: "Answer with JSON alone.",
  api_kwargs: { output_config: { format: { type: "json_schema", schema: z.toJSONSchema(Invoice) } } },
  validate(answer) {
    try {
      const { error } = Invoice.safeParse(JSON.parse(answer));
      return error && z.prettifyError(error);
    } catch {
      return "The answer is no JSON.";
    }
  },
});

const { finalAnswer, stopReason } = await agent.run('Invoice over 120 EUR with the number "A17".');
console.log(stopReason, Invoice.parse(JSON.parse(finalAnswer)));
await agent.close();
