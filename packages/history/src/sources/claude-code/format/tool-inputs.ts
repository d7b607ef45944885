import { z } from "zod";
import { TodoItem } from "./todo.ts";

export const BashInput = z.looseObject({ command: z.string(), timeout: z.number().optional() });

export const ReadInput = z.looseObject({
  file_path: z.string(),
  offset: z.number().optional(),
  limit: z.number().optional(),
});

export const WriteInput = z.looseObject({ file_path: z.string(), content: z.string() });

export const EditInput = z.looseObject({
  file_path: z.string(),
  old_string: z.string(),
  new_string: z.string(),
  replace_all: z.boolean().optional(),
});

export const GlobInput = z.looseObject({ pattern: z.string(), path: z.string().optional() });

/**
 * Newer versions of Claude Code call the tool `Task` by the name `Agent`. `subagent_type` is any string, because users
 * define their own agents.
 */
export const TaskInput = z.looseObject({
  subagent_type: z.string().optional(),
  description: z.string().optional(),
  prompt: z.string(),
});

/** `todos` is a list, or a Markdown checklist in the oldest files. */
export const TodoWriteInput = z.looseObject({ todos: z.union([z.array(TodoItem), z.string()]) });

export const WebFetchInput = z.looseObject({
  url: z.string(),
  prompt: z.string().optional(),
  max_length: z.number().optional(),
  raw: z.boolean().optional(),
});
