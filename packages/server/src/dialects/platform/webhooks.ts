import { ApiError } from "../../http/api-error.ts";
import type { Handlers, ServerContext } from "../../request-context.ts";
import { PLACES, cursorOf, placeOf } from "../../http/cursor.ts";

/** Webhooks and their deliveries. */
export const webhookHandlers = {
  async createWebhook({ body }, { shared, principal, idempotency }) {
    checkUrl(shared, body.url);
    return shared.webhooks.create(principal.tenant, body, idempotency?.newId);
  },
  async listWebhooks(_, { shared, principal }) {
    return { data: [...(await shared.webhooks.list(principal.tenant))] };
  },
  async patchWebhook({ params, body: { url, events } }, { shared, principal }) {
    if (url !== undefined) checkUrl(shared, url);
    return shared.webhooks.change(principal.tenant, params.webhook_id, {
      ...(url !== undefined && { url }),
      ...(events && { events }),
    });
  },
  async redeliver({ params: { webhook_id, delivery_id } }, { shared, principal }) {
    return shared.webhooks.redeliver(principal.tenant, webhook_id, delivery_id);
  },
  async deleteWebhook({ params }, { shared, principal }) {
    await shared.webhooks.delete(principal.tenant, params.webhook_id);
    return undefined;
  },
  async listDeliveries({ params, query: { limit, cursor } }, { shared, principal }) {
    const page = await shared.webhooks.deliveries(principal.tenant, params.webhook_id, {
      ...(limit !== undefined && { limit }),
      ...(cursor !== undefined && { cursor: placeOf(cursor, PLACES.record) }),
    });
    return { data: [...page.items], next_cursor: cursorOf(page.cursor) };
  },
} satisfies Partial<Handlers>;

function checkUrl({ deps }: ServerContext, url: string): void {
  const problem = deps.webhookSender?.problemWith(url) ?? noSender(deps.webhookSender);
  if (problem !== undefined) throw new ApiError("url_not_allowed", `url: ${problem}`);
}

function noSender(sender: unknown): string | undefined {
  return sender === undefined ? "This server sends no webhooks." : undefined;
}
