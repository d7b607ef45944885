import { z } from "zod";
import { Uuid } from "../../ids.ts";

const Instant = z.iso.datetime();
const Count = z.int().nonnegative();

/** The types of events that a webhook can receive. */
export const WebhookEvent = z.enum([
  "session.created",
  "session.started",
  "session.completed",
  "session.failed",
  "session.edited",
  "await.opened",
]);

export const WebhookInput = z.strictObject({
  url: z.string().min(1).max(2000),
  events: z
    .array(WebhookEvent)
    .min(1)
    .default(["session.started", "session.completed", "session.failed", "await.opened"]),
});

export const WebhookPatch = z.strictObject({
  url: WebhookInput.shape.url.optional(),
  events: z.array(WebhookEvent).min(1).optional(),
});

/** A URL that receives events about sessions and runs. */
export const Webhook = z.object({
  id: Uuid,
  url: z.string(),
  events: z.array(WebhookEvent),
  created_at: Instant,
});
export type Webhook = z.infer<typeof Webhook>;

/** A notice to one webhook. */
export const Delivery = z.object({
  id: Uuid,
  webhook_id: Uuid,
  event_type: WebhookEvent,
  session_id: Uuid,
  event_sequence: z.int().positive(),
  state: z.enum(["pending", "delivered", "failed"]),
  attempts: Count,
  /** The HTTP status of the last response. Null if no response came. */
  last_status: z.int().nullable(),
  last_error: z.string().nullable(),
  next_attempt_at: Instant.nullable(),
  created_at: Instant,
});
export type Delivery = z.infer<typeof Delivery>;
