import { randomBytes } from "node:crypto";
import { type Delivery, type Ids, KnownError, type Webhook, type WebhookEvent } from "@skein/protocol";
import type { z } from "zod";
import { type DeliveriesDeps, StoredWebhook, TENANT, createDeliveries } from "./webhook-deliveries.ts";
import { createNotices } from "./webhook-notices.ts";

export interface WebhooksDeps extends DeliveriesDeps {
  readonly ids: Ids;
}

/** Sends notices about sessions and runs to URLs, following Standard Webhooks. */
export interface Webhooks {
  create(
    tenant: string,
    input: { url: string; events: readonly z.infer<typeof WebhookEvent>[] },
    /** If a webhook with this id exists, the request is a repeat and that webhook is returned. */
    id?: string,
  ): Promise<Webhook & { secret: string }>;
  list(tenant: string): Promise<readonly Webhook[]>;
  change(
    tenant: string,
    id: string,
    change: { url?: string; events?: readonly z.infer<typeof WebhookEvent>[] },
  ): Promise<Webhook>;
  delete(tenant: string, id: string): Promise<void>;
  /** Sends a notice again, under the same id. */
  redeliver(tenant: string, id: string, deliveryId: string): Promise<Delivery>;
  deliveries(
    tenant: string,
    id: string,
    page: { limit?: number; cursor?: string },
  ): Promise<{ items: readonly Delivery[]; cursor: string | null }>;
  /** Removes old notices. */
  sweep(): Promise<void>;
  stop(): void;
}

export function createWebhooks(deps: WebhooksDeps): Webhooks {
  const { ids, now } = deps;
  const { records } = deps.store;
  let stopped = false;
  const report = (error: unknown): void => {
    if (!stopped) deps.report(error);
  };
  const deliveries = createDeliveries({ ...deps, report });
  const notices = createNotices({ ...deps, deliveries, report });
  void deliveries.resume().then(notices.catchUp).catch(report);

  async function get(tenant: string, id: string): Promise<StoredWebhook> {
    const record = await records.get(TENANT, "webhook", id);
    const webhook = record && StoredWebhook.parse(record.value);
    if (webhook?.tenant !== tenant) throw new KnownError("not_found", `There is no webhook ${id}.`);
    return webhook;
  }

  return {
    async create(tenant, { url, events }, id) {
      const known = id === undefined ? undefined : await records.get(TENANT, "webhook", id);
      if (known) return StoredWebhook.parse(known.value);
      const webhook: StoredWebhook = {
        id: id ?? ids(),
        tenant,
        url,
        events: [...events],
        secret: `whsec_${randomBytes(32).toString("base64")}`,
        created_at: new Date(now()).toISOString(),
      };
      await records.put([
        { tenant: TENANT, kind: "webhook", id: webhook.id, value: webhook, fields: { tenant }, expect: 0 },
      ]);
      return webhook;
    },
    async list(tenant) {
      const field = { name: "tenant", value: tenant };
      const { items } = await records.list({ tenant: TENANT, kind: "webhook", field, limit: 1000 });
      return items.map(({ value }) => StoredWebhook.parse(value));
    },
    async change(tenant, id, { url, events }) {
      const webhook = await get(tenant, id);
      const changed: StoredWebhook = {
        ...webhook,
        ...(url !== undefined && { url }),
        ...(events && { events: [...events] }),
      };
      await records.put([{ tenant: TENANT, kind: "webhook", id, value: changed, fields: { tenant } }]);
      return changed;
    },
    async redeliver(tenant, id, deliveryId) {
      await get(tenant, id);
      return deliveries.again(id, deliveryId);
    },
    async delete(tenant, id) {
      await get(tenant, id);
      await records.delete(TENANT, "webhook", id);
    },
    async deliveries(tenant, id, page) {
      await get(tenant, id);
      return deliveries.list(id, page);
    },
    sweep: deliveries.sweep,
    stop() {
      stopped = true;
      notices.stop();
      deliveries.stop();
    },
  };
}
