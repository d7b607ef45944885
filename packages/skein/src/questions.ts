import { defineTool } from "@skein/core";
import { z } from "zod";

const Question = z.object({
  question: z.string().describe("The question, with everything that a person needs to answer it."),
  header: z.string().optional().describe("One or two words that stand above it."),
  multiSelect: z.boolean().default(false).describe("Whether several options may be chosen."),
  options: z
    .array(z.object({ label: z.string(), description: z.string().optional() }))
    .default([])
    .describe("What may be chosen; a person may always answer in other words."),
});

/** The input of AskUserQuestion, as Claude Code has it. */
export const Questions = z.object({ questions: z.array(Question).min(1).max(4) });
export type Questions = z.infer<typeof Questions>;

/** A question of the model to the person. The run waits until it is answered, for days if it must. */
export const askUserQuestion = defineTool({
  name: "AskUserQuestion",
  description:
    "Asks the person one to four questions and waits for the answers. Use it when you cannot know what they want.",
  input: Questions,
  executor: "question",
});

/** What the model is told: each question with its answer, in the shape of Claude Code. */
export function answersText(answers: Readonly<Record<string, string>>): string {
  return JSON.stringify({ answers });
}
