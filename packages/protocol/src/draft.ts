import { z } from "zod";
import { Uuid } from "./ids.ts";

/**
 * The unfinished text of the current step. A draft has no sequence and is never stored. A later event of the log has
 * the same text.
 *
 * `offset` is the number of earlier characters of the same kind in this attempt. So a reader knows how much text it
 * missed.
 */
const draft = z.object({
  session_id: Uuid,
  run_id: Uuid,
  step: z.int().nonnegative(),
  attempt: z.int().positive(),
  message_id: Uuid,
  offset: z.int().nonnegative(),
  delta: z.string(),
});

/** `step.generating` has the text of the step. `message.delta` has text and thinking, with the kind. */
export const Draft = z.discriminatedUnion("event_type", [
  z.object({ event_type: z.literal("step.generating"), data: draft }),
  z.object({ event_type: z.literal("message.delta"), data: draft.extend({ kind: z.enum(["text", "thinking"]) }) }),
]);
export type Draft = z.infer<typeof Draft>;
