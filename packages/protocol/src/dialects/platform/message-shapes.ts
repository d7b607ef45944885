import { z } from "zod";
import { ContentBlock } from "../../content.ts";
import { Uuid } from "../../ids.ts";
import { AnyObject } from "./page.ts";

const Instant = z.iso.datetime();
const Count = z.int().nonnegative();

/** The content of a prompt, as `{"text": …}` or as blocks of the Messages API. */
const UserContent = z.union([z.strictObject({ text: z.string().min(1) }), z.array(ContentBlock).min(1).max(1000)], {
  error: 'Expected {"text": "…"} or a list of content blocks.',
});

export const MessageInput = z.strictObject({
  role: z.literal("user", {
    error: ({ input }) =>
      input === undefined
        ? 'Expected "user", but the role is missing.'
        : 'Expected "user". Runs create all other messages.',
  }),
  content: UserContent,
  /** The id of a model for this message only. */
  model_id: Uuid.nullable().default(null),
  /**
   * Says what happens if a run is in progress. `queue`: the message waits for the end of the run. `steer`: the run
   * reads the message before its next step. `interrupt`: the message replaces the run.
   */
  mode: z.enum(["queue", "steer", "interrupt"]).default("queue"),
  max_cost_micros: Count.nullable().default(null),
});

/** A stored message. It gets its position in the transcript when its run begins. */
export const AcceptedMessage = z.object({
  message: z.object({
    id: Uuid,
    session_id: Uuid,
    sequence: z.int().positive().nullable(),
    role: z.literal("user"),
    content: AnyObject,
    tool_call_id: z.null(),
    created_at: Instant,
  }),
  run_id: Uuid,
  /** The sequence of the event for this message. `?after=` with this number returns later events. */
  event_sequence: z.int().positive(),
});
export type AcceptedMessage = z.infer<typeof AcceptedMessage>;

/** A message of the transcript with the blocks that the model sees. */
export const BlockMessage = z.object({
  id: Uuid,
  role: z.enum(["user", "assistant", "system"]),
  content: z.union([z.string(), z.array(AnyObject)]),
});

/** A row of the platform API's messages. */
export const ApiMessage = z.object({
  id: Uuid,
  session_id: Uuid,
  sequence: z.int().positive(),
  role: z.enum(["user", "assistant", "tool_call", "tool_result", "system"]),
  content: AnyObject,
  tool_call_id: z.string().nullable(),
  created_at: Instant,
});

/** An event, with the six keys of the platform API. */
export const ApiEvent = z.object({
  id: Uuid,
  session_id: Uuid,
  sequence: z.int().positive(),
  event_type: z.string(),
  data: AnyObject,
  created_at: Instant,
});
