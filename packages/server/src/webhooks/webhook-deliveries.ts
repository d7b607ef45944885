import { createHash } from "node:crypto";
import { type FairQueue, type Records, type Store, createFairQueue } from "@skein/core";
import { Delivery, type Event, KnownError, Webhook, WebhookEvent, isKnownError, webhookHeaders } from "@skein/protocol";
import { z } from "zod";
import { createJobQueues } from "./job-queues.ts";

/**
 * Sends a message to a URL that a user chose, and returns the HTTP status. Rejects addresses that must not be called.
 */
export interface WebhookSender {
  /** Returns the reason, as a sentence, if a URL may never be called. */
  problemWith(url: string): string | undefined;
  send(
    url: string,
    message: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
  ): Promise<number>;
}

export interface DeliveriesDeps {
  readonly store: Store;
  readonly sender: WebhookSender;
  readonly now: () => number;
  /** Limits how many notices are sent at the same time. Tenants take turns. Undefined for no limit. */
  readonly places?: FairQueue;
  /** The delays before the retries of a failed notice. A delay is counted from the previous attempt. */
  readonly retryMs?: readonly number[];
  readonly report: (error: unknown) => void;
}

/**
 * Sends notices: messages to a webhook's URL about one event each. A notice is sent until its receiver has accepted it,
 * or all retries are used up.
 */
export interface Deliveries {
  /** Stores a notice and sends it. A notice that is already stored does not change. */
  add(webhook: StoredWebhook, event: ToldEvent): Promise<void>;
  list(
    webhookId: string,
    page: { limit?: number; cursor?: string },
  ): Promise<{ items: readonly Delivery[]; cursor: string | null }>;
  /** Sends a notice again, even if it was delivered. Throws `not_found` for an unknown notice. */
  again(webhookId: string, id: string): Promise<Delivery>;
  /** Continues every waiting notice, because the process that stored it may have ended. */
  resume(): Promise<void>;
  /** Removes notices that are older than 30 days. */
  sweep(): Promise<void>;
  stop(): void;
}

export const StoredWebhook = Webhook.extend({ tenant: z.string(), secret: z.string() });
export type StoredWebhook = z.infer<typeof StoredWebhook>;

/** An event that webhooks can receive. */
export type ToldEvent = Extract<Event, { event_type: z.infer<typeof WebhookEvent> }>;

/** The webhooks of all tenants are stored under one tenant, because sending needs all of them. */
export const TENANT = "$webhooks";
const RETRY_MS = [5_000, 30_000, 120_000, 600_000, 3_600_000];
/** How long a process that claimed a notice keeps other processes from sending it. An attempt takes less time. */
const CLAIM_MS = 60_000;
/** How many notices of one webhook are sent at the same time, so that a slow receiver does not use many connections. */
const AT_ONCE = 4;
const KEPT_MS = 30 * 24 * 3600 * 1000;

export function createDeliveries(deps: DeliveriesDeps): Deliveries {
  const { store, sender, now, retryMs = RETRY_MS, report, places = createFairQueue({ places: Infinity }) } = deps;
  const { records } = store;
  const timers = new Map<string, NodeJS.Timeout>();
  let stopped = false;
  const queues = createJobQueues({ width: AT_ONCE, job: (id) => inTurn(id).catch(report) });

  /** Stores a delivery, the record of a notice. Returns false if another process has changed it. */
  async function save(delivery: Delivery, expect?: number): Promise<boolean> {
    const fields = { webhook: delivery.webhook_id, state: delivery.state, session: delivery.session_id };
    const put = { tenant: TENANT, kind: "delivery", id: delivery.id, value: delivery, fields };
    try {
      await records.put([{ ...put, ...(expect !== undefined && { expect }) }]);
      return true;
    } catch (error) {
      if (isKnownError(error, "conflict", "already_exists")) return false;
      throw error;
    }
  }

  /**
   * Waits for the turn of the tenant. The attempt is claimed after this wait, because a claim lasts only for CLAIM_MS.
   */
  async function inTurn(id: string): Promise<void> {
    const record = await records.get(TENANT, "delivery", id);
    const webhook = record && (await records.get(TENANT, "webhook", Delivery.parse(record.value).webhook_id));
    const giveBack = await places.take(webhook ? StoredWebhook.parse(webhook.value).tenant : TENANT);
    await attempt(id).finally(giveBack);
  }

  async function attempt(id: string): Promise<void> {
    const record = await records.get(TENANT, "delivery", id);
    const delivery = record && Delivery.parse(record.value);
    if (stopped || delivery?.state !== "pending") return;
    const claimed = { ...delivery, next_attempt_at: instant(now() + CLAIM_MS) };
    if (!(await save(claimed, record?.version))) return;
    const webhook = await records.get(TENANT, "webhook", delivery.webhook_id);
    const after = delivery.event_sequence - 1;
    const [event] = await store.read(delivery.session_id, { after, limit: 1 }).catch((error: unknown) => {
      // If the store is unavailable, the session may still exist, so the notice is retried.
      if (!isKnownError(error, "not_found")) throw error;
      return [];
    });
    if (!webhook || !event) {
      // Deleting a session removes its notices. A notice that was saved at that moment is removed here.
      if (!event) await records.delete(TENANT, "delivery", id);
      else await save({ ...delivery, state: "failed", last_error: "The webhook was deleted.", next_attempt_at: null });
      return;
    }
    const outcome = await sent(StoredWebhook.parse(webhook.value), delivery, event);
    const wait = retryMs[delivery.attempts];
    const isOver = outcome.last_error === null || wait === undefined;
    await save({
      ...delivery,
      ...outcome,
      attempts: delivery.attempts + 1,
      state: outcome.last_error === null ? "delivered" : isOver ? "failed" : "pending",
      next_attempt_at: isOver ? null : instant(now() + wait),
    });
    if (!isOver) later(delivery, wait);
  }

  async function sent({ url, secret }: StoredWebhook, delivery: Delivery, event: Event) {
    const body = JSON.stringify({ type: event.event_type, timestamp: event.created_at, data: event });
    const headers = await webhookHeaders({ secret, id: `msg_${delivery.id}`, at: now(), body });
    try {
      const status = await sender.send(url, { headers, body });
      const isTaken = status >= 200 && status < 300;
      return { last_status: status, last_error: isTaken ? null : `The receiver answered ${status}.` };
    } catch (error) {
      return { last_status: null, last_error: (error as Error).message.slice(0, 300) };
    }
  }

  function later({ id, webhook_id }: Delivery, ms: number): void {
    if (stopped || timers.has(id)) return;
    const timer = setTimeout(() => {
      timers.delete(id);
      queues.do(webhook_id, id);
    }, ms).unref();
    timers.set(id, timer);
  }

  return {
    async add(webhook, event) {
      const at = instant(now());
      const delivery: Delivery = {
        id: deliveryId(webhook.id, event),
        webhook_id: webhook.id,
        event_type: event.event_type,
        session_id: event.session_id,
        event_sequence: event.sequence,
        state: "pending",
        attempts: 0,
        last_status: null,
        last_error: null,
        next_attempt_at: at,
        created_at: at,
      };
      if (await save(delivery, 0)) queues.do(webhook.id, delivery.id);
    },
    async list(webhookId, page) {
      const field = { name: "webhook", value: webhookId };
      const { items, cursor } = await records.list({ tenant: TENANT, kind: "delivery", field, ...page });
      return { items: items.map(({ value }) => Delivery.parse(value)), cursor };
    },
    async again(webhookId, id) {
      const record = await records.get(TENANT, "delivery", id);
      const kept = record && Delivery.parse(record.value);
      if (!record || kept?.webhook_id !== webhookId)
        throw new KnownError("not_found", `Webhook ${webhookId} has no delivery ${id}.`);
      const again: Delivery = { ...kept, state: "pending", attempts: 0, next_attempt_at: instant(now()) };
      // If saving fails, another process is sending the notice at this moment, which is what the caller wants.
      if (await save(again, record.version)) queues.do(webhookId, id);
      return again;
    },
    async resume() {
      const query = { tenant: TENANT, kind: "delivery", field: { name: "state", value: "pending" }, limit: 200 };
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await records.list({ ...query, ...(cursor !== undefined && { cursor }) });
        for (const { value } of page.items) {
          const delivery = Delivery.parse(value);
          later(delivery, Math.max(0, Date.parse(delivery.next_attempt_at ?? delivery.created_at) - now()));
        }
        cursor = page.cursor;
      }
    },
    async sweep() {
      // Ids begin with the time of their event, so deliveries after this cursor are older.
      const cursor = `${timePart(now() - KEPT_MS)}-0000-0000-000000000000`;
      for (;;) {
        const { items } = await records.list({ tenant: TENANT, kind: "delivery", cursor, limit: 200 });
        if (items.length === 0) return;
        await Promise.all(items.map(({ id }) => records.delete(TENANT, "delivery", id)));
      }
    },
    stop() {
      stopped = true;
      for (const timer of timers.values()) clearTimeout(timer);
      queues.clear();
    },
  };
}

/** Removes the notices of a session that is deleted. */
export async function forgetDeliveries(records: Records, sessionId: string): Promise<void> {
  const field = { name: "session", value: sessionId };
  for (;;) {
    const { items } = await records.list({ tenant: TENANT, kind: "delivery", field, limit: 200 });
    if (items.length === 0) return;
    for (const { id } of items) await records.delete(TENANT, "delivery", id);
  }
}

/**
 * The id of a notice. Every process derives the same id, so that the notice is stored once. It is a UUID v7 of the
 * event's time, because lists are in the order of ids.
 */
function deliveryId(webhookId: string, { session_id, sequence, created_at }: ToldEvent): string {
  const rest = createHash("sha256").update(`${webhookId} ${session_id} ${sequence}`).digest("hex");
  return `${timePart(Date.parse(created_at))}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${rest.slice(6, 18)}`;
}

/** The first characters of a UUID v7 of this time. */
function timePart(ms: number): string {
  const time = ms.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}`;
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
