import { z } from "zod";
import { Content, JsonObject } from "../content.ts";
import { Failure } from "../error.ts";
import { Uuid } from "../ids.ts";
import { happenedAt } from "./happened-at.ts";

const Count = z.int().nonnegative();
const inStep = { run_id: Uuid, step: Count };
/** Set if the agent memory failed. The run continued without this memory. */
const failing = { failed: z.literal(true).optional(), error: Failure.optional() };
const hook = {
  ...inStep,
  memory_store_type: z.string(),
  duration_ms: Count,
  details: JsonObject,
  ...failing,
  ...happenedAt,
};
const context = { messages_count: Count, estimated_tokens: Count, duration_ms: Count };

/** Facts about agent memory, compaction and generated files. */
export const contextFacts = {
  "memory.retrieved": z.object({
    ...inStep,
    ...context,
    memories_found: Count,
    memories_injected: Count,
    memory_store_type: z.string(),
    /** The memory texts in the prompt. With them, the step can be repeated exactly. */
    injected: z.array(z.string()),
    ...failing,
    ...happenedAt,
  }),
  "memory.updated": z.object({
    ...inStep,
    memories_written: Count,
    memory_store_type: z.string(),
    duration_ms: Count,
    ...failing,
    ...happenedAt,
  }),
  "memory.saved": z.object(hook),
  "memory.restored": z.object(hook),
  /**
   * Skein checked whether compaction is needed. If the context was compacted, this fact has the new messages.
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
    /** The messages that replace all earlier messages in the context. Null if the context was not compacted. */
    messages: z.array(z.object({ role: z.string(), content: Content })).nullable(),
    ...happenedAt,
  }),
  "file.generated": z.object({ ...inStep, file_id: z.string(), filename: z.string(), ...happenedAt }),
  "file.downloaded": z.object({
    ...inStep,
    file_id: z.string(),
    filename: z.string(),
    size: Count,
    duration_ms: Count,
    ...happenedAt,
  }),
  "file.stored": z.object({
    ...inStep,
    file_id: z.string(),
    filename: z.string(),
    storage_path: z.string(),
    size: Count,
    mime_type: z.string(),
    duration_ms: Count,
    ...happenedAt,
  }),
  "file.failed": z.object({
    ...inStep,
    file_id: z.string(),
    filename: z.string().nullable(),
    error: Failure,
    ...happenedAt,
  }),
};
