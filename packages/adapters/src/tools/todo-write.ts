import { type Tool, defineTool } from "@skein/core";
import { z } from "zod";

const Todo = z.object({
  content: z.string().min(1).max(1000),
  status: z.enum(["pending", "in_progress", "completed"]),
  activeForm: z.string().max(1000).optional(),
});
type Todo = z.output<typeof Todo>;

/** Creates the tool for a to-do list. The list is stored only as the input of the last call in the session's log. */
export function createTodoWrite(): Tool {
  return defineTool({
    name: "TodoWrite",
    description: "Writes the to-do list and replaces the previous one. Use it for work with several steps.",
    input: z.object({
      todos: z
        .union([z.array(Todo).max(200), z.string().max(100_000)])
        .describe("The items, or a Markdown checklist: - [ ] to do, - [~] being done, - [x] done."),
    }),
    policy: "repeatable",
    run: ({ todos }) => {
      const items = typeof todos === "string" ? fromChecklist(todos) : todos;
      const marks = { pending: " ", in_progress: "~", completed: "x" } as const;
      const list = items.map(({ content, status }) => `- [${marks[status]}] ${content}`).join("\n");
      const done = items.filter(({ status }) => status === "completed").length;
      return items.length === 0 ? "The list is empty." : `${done} of ${items.length} done.\n${list}`;
    },
  });
}

/** Parses a Markdown checklist, which was the input of an older version of this tool. */
function fromChecklist(text: string): readonly Todo[] {
  return text.split("\n").flatMap((line): Todo[] => {
    const [, mark, content] = /^\s*[-*]\s+\[([ xX~>-])\]\s+(\S.*)$/.exec(line) ?? [];
    if (mark === undefined || content === undefined) return [];
    const status = mark.toLowerCase() === "x" ? "completed" : mark === " " ? "pending" : "in_progress";
    return [{ content: content.slice(0, 1000), status }];
  });
}
