import { Content, KnownError, Line, Tags, Uuid } from "@skein/protocol";
import { z } from "zod";
import { contentProblem } from "./content-problem.ts";
import { jsonSize } from "../log/json-size.ts";

/** The options for creating, prompting and editing sessions. */

export const CreateOptions = z.strictObject({
  id: Uuid.optional(),
  title: Line.max(255).nullable().default(null),
  tags: Tags.default([]),
  modelId: Uuid.nullable().default(null),
  workingDirectory: Line.max(500).nullable().default(null),
  metadata: z.record(z.string(), z.unknown()).default({}),
  subagentOf: z.object({ session_id: Uuid, tool_use_id: z.string() }).nullable().default(null),
  /** The name of the API key that creates the session. */
  openedBy: z.string().max(255).optional(),
});

export const PromptOptions = z.strictObject({
  content: Content,
  mode: z.enum(["queue", "steer", "interrupt"]).default("queue"),
  model: Line.min(1).max(100).nullable().default(null),
  maxCostMicros: z.int().nonnegative().nullable().default(null),
  /** The options of this run, in the format of the session's runtime. */
  options: z.record(z.string(), z.unknown()).optional(),
  /**
   * Rejects the prompt with `conflict` if the session has a run or a queued prompt. `seenAt` is the last sequence of
   * the log when the caller saw that the session was idle.
   */
  whenIdle: z.union([z.boolean(), z.object({ seenAt: z.int().nonnegative() })]).default(false),
});

export const EditOptions = z.strictObject({
  title: Line.max(255).nullable().optional(),
  tags: Tags.optional(),
  modelId: Uuid.nullable().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

/**
 * The most characters of one prompt. Prompts are limited because every reader of a session holds the whole prompt in
 * memory.
 */
const PROMPT_LIMIT = 32 * 1024 * 1024;

export function checkPrompt(content: Content): void {
  const problem = contentProblem(content);
  if (problem) throw new KnownError(problem.tooLarge ? "too_large" : "invalid", problem.sentence);
  const size = typeof content === "string" ? content.length : jsonSize(content);
  if (size > PROMPT_LIMIT)
    throw new KnownError("too_large", `A prompt may have ${PROMPT_LIMIT} characters, and this one has ${size}.`);
}
