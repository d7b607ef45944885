import { z } from "zod";

export const TodoItem = z.looseObject({
  content: z.string(),
  status: z.enum(["pending", "in_progress", "completed"]).or(z.string()),
  activeForm: z.string().optional(),
});
export type TodoItem = z.infer<typeof TodoItem>;

/** The content of `todos/<session>-agent-<agent>.json`. Claude Code 2.1.16 and later write task files instead. */
export const TodoFile = z.array(TodoItem);

/** The content of `tasks/<list>/<n>.json`. The file contains no time. */
export const TaskItem = z.looseObject({
  id: z.string(),
  subject: z.string(),
  description: z.string().optional(),
  status: z.enum(["pending", "in_progress", "completed"]).or(z.string()),
  blocks: z.array(z.string()).optional(),
  blockedBy: z.array(z.string()).optional(),
  activeForm: z.string().optional(),
  owner: z.string().optional(),
  metadata: z.unknown().optional(),
});
export type TaskItem = z.infer<typeof TaskItem>;
