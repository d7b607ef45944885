import { createHmac, randomBytes } from "node:crypto";
import type { Store } from "@skein/core";
import { Delivery, type Event, type Ids, KnownError, Webhook, WebhookEvent } from "@skein/protocol";
import { z } from "zod";

/** Sends a message to a URL that somebody else chose; answers the status. Refuses addresses that it must not call. */
export interface WebhookSender {
  /** A sentence about a URL that will never be called, or nothing. */
  problemWith(url: string): string | undefined;
  send(
    url: string,
    message: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
  ): Promise<number>;
}

export interface WebhooksDeps {
  readonly store: Store;
  readonly sender: WebhookSender;
  readonly ids: Ids;
  readonly now: () => number;
  /** When a notice that failed is tried again, counted from each attempt. */
  readonly retryMs?: readonly number[];
  readonly report: (error: unknown) => void;
}

/** Tells URLs about sessions and runs, as Standard Webhooks has it. */
export interface Webhooks {
  create(
    tenant: string,
    input: { url: string; events: readonly z.infer<typeof WebhookEvent>[] },
  ): Promise<Webhook & { secret: string }>;
  list(tenant: string): Promise<readonly Webhook[]>;
  delete(tenant: string, id: string): Promise<void>;
  deliveries(
    tenant: string,
    id: string,
    page: { limit?: number; cursor?: string },
  ): Promise<{ items: readonly Delivery[]; cursor: string | null }>;
  stop(): void;
}

const StoredWebhook = Webhook.extend({ tenant: z.string(), secret: z.string() });
type StoredWebhook = z.infer<typeof StoredWebhook>;

/** Webhooks of all tenants are kept together, because whoever sends looks at all of them. */
const TENANT = "$webhooks";
const RETRY_MS = [5_000, 30_000, 120_000, 600_000, 3_600_000];
const isTold = (type: string): type is z.infer<typeof WebhookEvent> => WebhookEvent.safeParse(type).success;

export function createWebhooks({ store, sender, ids, now, retryMs = RETRY_MS, report }: WebhooksDeps): Webhooks {
  const { records } = store;
  const timers = new Set<NodeJS.Timeout>();
  let stopped = false;

  async function of(tenant: string): Promise<readonly StoredWebhook[]> {
    const { items } = await records.list({
      tenant: TENANT,
      kind: "webhook",
      field: { name: "tenant", value: tenant },
      limit: 1000,
    });
    return items.map(({ value }) => StoredWebhook.parse(value));
  }

  async function get(tenant: string, id: string): Promise<StoredWebhook> {
    const record = await records.get(TENANT, "webhook", id);
    const webhook = record && StoredWebhook.parse(record.value);
    if (webhook?.tenant !== tenant) throw new KnownError("not_found", `There is no webhook ${id}.`);
    return webhook;
  }

  function save(delivery: Delivery): Promise<unknown> {
    const fields = { webhook: delivery.webhook_id, state: delivery.state };
    return records.put([{ tenant: TENANT, kind: "delivery", id: delivery.id, value: delivery, fields }]);
  }

  /** Kept before it is sent: a notice that was written down survives the process. */
  async function tell(event: Event): Promise<void> {
    const session = await store.get(event.session_id);
    const type = event.event_type;
    if (!session || !isTold(type)) return;
    for (const webhook of await of(session.tenant)) {
      if (!webhook.events.includes(type)) continue;
      const at = new Date(now()).toISOString();
      const delivery: Delivery = {
        id: ids(),
        webhook_id: webhook.id,
        event_type: type,
        session_id: event.session_id,
        event_sequence: event.sequence,
        state: "pending",
        attempts: 0,
        last_status: null,
        last_error: null,
        next_attempt_at: at,
        created_at: at,
      };
      await save(delivery);
      void attempt(delivery).catch(report);
    }
  }

  async function attempt(delivery: Delivery): Promise<void> {
    if (stopped) return;
    const record = await records.get(TENANT, "webhook", delivery.webhook_id);
    const after = delivery.event_sequence - 1;
    const [event] = await store.read(delivery.session_id, { after, limit: 1 }).catch(() => []);
    if (!record || !event) {
      await save({
        ...delivery,
        state: "failed",
        last_error: "The webhook or the session is gone.",
        next_attempt_at: null,
      });
      return;
    }
    const outcome = await sent(StoredWebhook.parse(record.value), delivery, event);
    const attempts = delivery.attempts + 1;
    const wait = retryMs[delivery.attempts];
    const isOver = outcome.last_error === null || wait === undefined;
    const next: Delivery = {
      ...delivery,
      ...outcome,
      attempts,
      state: outcome.last_error === null ? "delivered" : isOver ? "failed" : "pending",
      next_attempt_at: isOver ? null : new Date(now() + wait).toISOString(),
    };
    await save(next);
    if (!isOver) later(next, wait);
  }

  async function sent({ url, secret }: StoredWebhook, delivery: Delivery, event: Event) {
    const body = JSON.stringify({ type: event.event_type, timestamp: event.created_at, data: event });
    const timestamp = String(Math.floor(now() / 1000));
    const id = `msg_${delivery.id}`;
    const headers = {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": signatureOf(secret, `${id}.${timestamp}.${body}`),
    };
    try {
      const status = await sender.send(url, { headers, body });
      const isTaken = status >= 200 && status < 300;
      return { last_status: status, last_error: isTaken ? null : `The receiver answered ${status}.` };
    } catch (error) {
      return { last_status: null, last_error: (error as Error).message.slice(0, 300) };
    }
  }

  function later(delivery: Delivery, ms: number): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      void attempt(delivery).catch(report);
    }, ms).unref();
    timers.add(timer);
  }

  /** Takes up what an earlier process wrote down and did not deliver. */
  async function resume(): Promise<void> {
    for (let cursor: string | null | undefined; cursor !== null;) {
      const field = { name: "state", value: "pending" };
      const page = await records.list({
        tenant: TENANT,
        kind: "delivery",
        field,
        limit: 200,
        ...(cursor !== undefined && { cursor }),
      });
      for (const { value } of page.items) {
        const delivery = Delivery.parse(value);
        later(delivery, Math.max(0, Date.parse(delivery.next_attempt_at ?? delivery.created_at) - now()));
      }
      cursor = page.cursor;
    }
  }

  const stopListening = store.onNews((_, events) => {
    // Events of other processes are told by the process that wrote them.
    for (const event of events ?? []) if (isTold(event.event_type)) void tell(event).catch(report);
  });
  void resume().catch(report);

  return {
    async create(tenant, { url, events }) {
      const webhook: StoredWebhook = {
        id: ids(),
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
    list: of,
    async delete(tenant, id) {
      await get(tenant, id);
      await records.delete(TENANT, "webhook", id);
    },
    async deliveries(tenant, id, page) {
      await get(tenant, id);
      const { items, cursor } = await records.list({
        tenant: TENANT,
        kind: "delivery",
        field: { name: "webhook", value: id },
        ...page,
      });
      return { items: items.map(({ value }) => Delivery.parse(value)), cursor };
    },
    stop() {
      stopped = true;
      stopListening();
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** Standard Webhooks: the key is what follows `whsec_`, the text is id, time and body. */
function signatureOf(secret: string, text: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  return `v1,${createHmac("sha256", key).update(text).digest("base64")}`;
}
