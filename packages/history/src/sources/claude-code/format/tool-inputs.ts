import { z } from "zod";
import { TodoItem } from "./todo.ts";

export const BashInput = z.looseObject({ command: z.string(), timeout: z.number().optional() });
export type BashInput = z.infer<typeof BashInput>;

export const ReadInput = z.looseObject({
  file_path: z.string(),
  offset: z.number().optional(),
  limit: z.number().optional(),
});
export type ReadInput = z.infer<typeof ReadInput>;

export const WriteInput = z.looseObject({ file_path: z.string(), content: z.string() });
export type WriteInput = z.infer<typeof WriteInput>;

export const EditInput = z.looseObject({
  file_path: z.string(),
  old_string: z.string(),
  new_string: z.string(),
  replace_all: z.boolean().optional(),
});
export type EditInput = z.infer<typeof EditInput>;

export const GlobInput = z.looseObject({ pattern: z.string(), path: z.string().optional() });
export type GlobInput = z.infer<typeof GlobInput>;

/** `Task` was renamed to `Agent`; the kind of agent is a free string, because people define their own. */
export const TaskInput = z.looseObject({
  subagent_type: z.string().optional(),
  description: z.string().optional(),
  prompt: z.string(),
});
export type TaskInput = z.infer<typeof TaskInput>;

/** An array today; a Markdown checklist in the oldest files. */
export const TodoWriteInput = z.looseObject({ todos: z.union([z.array(TodoItem), z.string()]) });
export type TodoWriteInput = z.infer<typeof TodoWriteInput>;

export const WebFetchInput = z.looseObject({
  url: z.string(),
  prompt: z.string().optional(),
  max_length: z.number().optional(),
  raw: z.boolean().optional(),
});
export type WebFetchInput = z.infer<typeof WebFetchInput>;

/** The schema of a tool's input by the tool's name. */
export const toolInputs = {
  Bash: BashInput,
  Read: ReadInput,
  Write: WriteInput,
  Edit: EditInput,
  Glob: GlobInput,
  Task: TaskInput,
  Agent: TaskInput,
  TodoWrite: TodoWriteInput,
  WebFetch: WebFetchInput,
} as const;
