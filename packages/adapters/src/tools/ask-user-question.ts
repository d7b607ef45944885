import { type Tool, defineTool } from "@skein/core";
import { z } from "zod";

/**
 * Asks a person, in the format of Claude Code's tool. Without `timeoutMs`, the run waits until somebody answers, for
 * days if necessary.
 */
export function createAskUserQuestion({ timeoutMs }: { readonly timeoutMs?: number } = {}): Tool {
  return defineTool({
    name: "AskUserQuestion",
    description: "Asks the user one to four questions with options to choose from, and waits for the answer.",
    input: z.object({
      questions: z
        .array(
          z.object({
            question: z.string().min(1).describe("The whole question."),
            header: z.string().max(30).optional().describe("A very short label."),
            options: z
              .array(z.object({ label: z.string().min(1), description: z.string().optional() }))
              .min(2)
              .max(4)
              .describe("What the user may choose; a text of their own is always possible."),
            multiSelect: z.boolean().optional().describe("Whether several options may be chosen."),
          }),
        )
        .min(1)
        .max(4),
    }),
    executor: "question",
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
}
