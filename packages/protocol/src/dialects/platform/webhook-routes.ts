import { z } from "zod";
import { Uuid } from "../../ids.ts";
import type { Route } from "./route.ts";
import { PageQuery, pageOf } from "./page.ts";
import { Delivery, Webhook, WebhookInput, WebhookPatch } from "./webhook-shapes.ts";

const inWebhook = z.object({ webhook_id: Uuid });

/** Webhooks for events of sessions and runs. */
export const webhookRoutes = {
  createWebhook: {
    method: "POST",
    path: "/v1/webhooks",
    scope: "admin",
    summary: "Create a webhook for events of sessions and runs. Only this response shows the secret",
    body: WebhookInput,
    status: 201,
    response: Webhook.extend({ secret: z.string() }),
  },
  listWebhooks: {
    method: "GET",
    path: "/v1/webhooks",
    scope: "admin",
    summary: "List webhooks, newest first",
    status: 200,
    response: z.object({ data: z.array(Webhook) }),
  },
  patchWebhook: {
    method: "PATCH",
    path: "/v1/webhooks/{webhook_id}",
    scope: "admin",
    summary: "Change the URL or the events of a webhook. Its secret stays the same",
    params: inWebhook,
    body: WebhookPatch,
    status: 200,
    response: Webhook,
  },
  deleteWebhook: {
    method: "DELETE",
    path: "/v1/webhooks/{webhook_id}",
    scope: "admin",
    summary: "Delete a webhook",
    params: inWebhook,
    status: 204,
  },
  listDeliveries: {
    method: "GET",
    path: "/v1/webhooks/{webhook_id}/deliveries",
    scope: "admin",
    summary: "List the deliveries of a webhook, newest first",
    params: inWebhook,
    query: PageQuery,
    status: 200,
    response: pageOf(Delivery),
  },
  redeliver: {
    method: "POST",
    path: "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver",
    scope: "admin",
    summary: "Repeat a delivery with the same id",
    params: inWebhook.extend({ delivery_id: Uuid }),
    status: 202,
    response: Delivery,
  },
} as const satisfies Record<string, Route>;
