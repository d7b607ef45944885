import { z } from "zod";
import { ContentBlock } from "../../content.ts";
import { Uuid } from "../../ids.ts";
import { AnyObject } from "./page.ts";

const Instant = z.iso.datetime();
const Count = z.int().nonnegative();

/** A user's message: the platform API's `{"text": …}`, or blocks of the Messages API. */
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
  /** A model from the list of models, for this message only. */
  model_id: Uuid.nullable().default(null),
  /**
   * If a run is in progress, the message waits for the end of the run (`queue`), is read before the run's next step
   * (`steer`), or replaces the run (`interrupt`).
   */
  mode: z.enum(["queue", "steer", "interrupt"]).default("queue"),
  max_cost_micros: Count.nullable().default(null),
});

/** A message that is stored durably. Its position among the messages is known when its run begins. */
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
  /** The sequence of the event that accepted the message. `?after=` with this number returns the later events. */
  event_sequence: z.int().positive(),
});
export type AcceptedMessage = z.infer<typeof AcceptedMessage>;

/** A message of the transcript with its blocks, as the model sees it. */
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

/** An event: the platform API's six keys. */
export const ApiEvent = z.object({
  id: Uuid,
  session_id: Uuid,
  sequence: z.int().positive(),
  event_type: z.string(),
  data: AnyObject,
  created_at: Instant,
});
