import { z } from "zod";
import { Uuid } from "../../ids.ts";
import { MessageInput } from "./message-shapes.ts";
import { AnswerInput } from "./session-shapes.ts";

/** The response to a command has the same `id`. */
const reference = { id: z.string().min(1).max(100).optional(), session_id: Uuid };

/** A message that a client may send over `/v1/ws`, as JSON text. */
export const SocketCommand = z.discriminatedUnion("type", [
  z.strictObject({ ...reference, type: z.literal("subscribe"), after: z.int().nonnegative().default(0) }),
  z.strictObject({ ...reference, type: z.literal("unsubscribe") }),
  z.strictObject({ ...reference, type: z.literal("prompt"), ...MessageInput.omit({ role: true }).shape }),
  z.strictObject({
    ...reference,
    type: z.literal("answer"),
    tool_use_id: z.string().min(1).max(200),
    ...AnswerInput.shape,
  }),
  z.strictObject({
    ...reference,
    type: z.literal("cancel"),
    run_id: Uuid.optional(),
    reason: z.string().max(1000).optional(),
  }),
]);
export type SocketCommand = z.output<typeof SocketCommand>;
