import { defineTool } from "skein";
import { z } from "zod";

/** A tool that the client runs. */
export const pick = defineTool({
  name: "pick",
  description: "Lets the person pick a colour.",
  input: z.object({ of: z.array(z.string()) }),
  executor: "frontend",
});

/** A tool that returns its input, and counts its calls. */
export function counting(name = "count", options: Partial<Parameters<typeof defineTool>[0]> = {}) {
  const calls: unknown[] = [];
  const tool = defineTool({
    name,
    description: "Counts.",
    input: z.looseObject({}),
    run: (input) => {
      calls.push(input);
      return `call ${calls.length}`;
    },
    ...(options as object),
  });
  return { tool, calls };
}
