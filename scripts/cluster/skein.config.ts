/** The tools of the chaos run. A server that is not part of the cluster counts their effects. */
import { defineTool } from "skein";
import { z } from "zod";

function effect(name: string, policy: "once" | "repeatable") {
  return defineTool({
    name,
    description: `Has an effect (${policy}).`,
    input: z.object({ n: z.number(), padding: z.number().optional() }),
    policy,
    async run({ padding = 0 }, { sessionId, toolUseId, signal }) {
      const query = new URLSearchParams({ session: sessionId, call: toolUseId, policy, by: String(process.pid) });
      const response = await fetch(`${process.env["CHAOS_EFFECTS_URL"] ?? ""}/?${query}`, { method: "POST", signal });
      // A large result, whose text is stored as a file.
      return (await response.text()) + "x".repeat(padding);
    },
  });
}

export default { tools: [effect("act_once", "once"), effect("act_again", "repeatable")] };
