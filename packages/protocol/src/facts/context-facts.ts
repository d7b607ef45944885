import { z } from "zod";
import { Content, JsonObject } from "../content.ts";
import { Failure } from "../error.ts";
import { Uuid } from "../ids.ts";

const Count = z.int().nonnegative();
const inStep = { run_id: Uuid, step: Count };
/** A memory that failed: the run continued without it. */
const failing = { failed: z.literal(true).optional(), error: Failure.optional() };
const hook = { ...inStep, memory_store_type: z.string(), duration_ms: Count, details: JsonObject, ...failing };
const context = { messages_count: Count, estimated_tokens: Count, duration_ms: Count };

/** What the model is shown in addition to the transcript: memory, compaction, files. */
export const contextFacts = {
  "memory.retrieved": z.object({
    ...inStep,
    ...context,
    memories_found: Count,
    memories_injected: Count,
    memory_store_type: z.string(),
    /** The memories that were added to the prompt, so that the step can be reproduced. */
    injected: z.array(z.string()),
    ...failing,
  }),
  "memory.updated": z.object({
    ...inStep,
    memories_written: Count,
    memory_store_type: z.string(),
    duration_ms: Count,
    ...failing,
  }),
  "memory.saved": z.object(hook),
  "memory.restored": z.object(hook),
  /**
   * A check whether compaction is needed, with the reason for its result. If compaction was applied, the fact also has
   * the messages that replace the older ones.
   */
  "compaction.checked": z.object({
    ...inStep,
    ...context,
    applied: z.boolean(),
    reason: z.string(),
    compactor_type: z.string(),
    current_tokens: Count,
    threshold: Count,
    tokens_after: Count,
    /** The messages that the model is shown in place of all earlier messages; null when not applied. */
    messages: z.array(z.object({ role: z.string(), content: Content })).nullable(),
  }),
  "file.generated": z.object({ ...inStep, file_id: z.string(), filename: z.string() }),
  "file.downloaded": z.object({
    ...inStep,
    file_id: z.string(),
    filename: z.string(),
    size: Count,
    duration_ms: Count,
  }),
  "file.stored": z.object({
    ...inStep,
    file_id: z.string(),
    filename: z.string(),
    storage_path: z.string(),
    size: Count,
    mime_type: z.string(),
    duration_ms: Count,
  }),
  "file.failed": z.object({ ...inStep, file_id: z.string(), filename: z.string().nullable(), error: Failure }),
};
