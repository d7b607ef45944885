import { setTimeout as delay } from "node:timers/promises";
import type { Store } from "@skein/core";
import { type Event, WebhookEvent } from "@skein/protocol";
import { z } from "zod";
import { type Deliveries, StoredWebhook, TENANT, type ToldEvent } from "./webhook-deliveries.ts";

export interface NoticesDeps {
  readonly store: Store;
  readonly deliveries: Deliveries;
  readonly now: () => number;
  /** The delay between news from another process and the read of the session's log. */
  readonly lookAgainMs?: number;
  readonly report: (error: unknown) => void;
}

/**
 * Creates notices, the messages to webhooks, for events. Events of this process get their notices immediately; for
 * other events, the logs are read.
 */
export interface Notices {
  /** Reads the logs for events without a notice: events appended while no server ran, or by a process that died. */
  catchUp(): Promise<void>;
  stop(): void;
}

/** How far the stored mark, a time, is behind the clock. The next start reads the events since the mark. */
const WINDOW_MS = 5 * 60_000;
const MARK = { tenant: TENANT, kind: "mark", id: "told" } as const;
const Mark = z.object({ until: z.iso.datetime() });
const MARK_MS = 60_000;
/** The number of sessions whose last read sequence is remembered. */
const SEEN = 10_000;
/** If a store has more webhooks than this, only the webhooks of an event's tenant are read. */
const FEW = 200;
/**
 * The events of this time share one lookup of webhooks, because a run has several events and most servers have no
 * webhook.
 */
const GATHER_MS = 50;

export function createNotices({ store, deliveries, now, lookAgainMs = 5000, report }: NoticesDeps): Notices {
  const { records } = store;
  const timers = new Map<string, NodeJS.Timeout>();
  const seen = new Map<string, number>();
  /** When the logs are read, events before this time get no notice. */
  let since = "";
  let stopped = false;

  async function webhooks(tenant?: string): Promise<readonly StoredWebhook[]> {
    const found: StoredWebhook[] = [];
    const field = tenant === undefined ? {} : { field: { name: "tenant", value: tenant } };
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await records.list({
        tenant: TENANT,
        kind: "webhook",
        limit: 200,
        ...field,
        ...(cursor !== undefined && { cursor }),
      });
      found.push(...page.items.map(({ value }) => StoredWebhook.parse(value)));
      cursor = page.cursor;
    }
    return found;
  }

  /** Returns the event types that any webhook wants, or undefined if the store has more than FEW webhooks. */
  const wantedByAny = oneForAll(GATHER_MS, async () => {
    const { items, cursor } = await records.list({ tenant: TENANT, kind: "webhook", limit: FEW });
    return cursor === null ? new Set(items.flatMap(({ value }) => StoredWebhook.parse(value).events)) : undefined;
  });

  /** Stores notices before they are sent, so that they survive the process. */
  async function tell(sessionId: string, events: readonly ToldEvent[]): Promise<void> {
    const session = await store.get(sessionId);
    if (!session) return;
    for (const webhook of await webhooks(session.tenant))
      for (const event of events)
        if (webhook.events.includes(event.event_type) && event.created_at >= webhook.created_at)
          await deliveries.add(webhook, event);
  }

  async function tellIfWanted(sessionId: string, events: readonly ToldEvent[]): Promise<void> {
    const wanted = await wantedByAny();
    if (!wanted || events.some(({ event_type }) => wanted.has(event_type))) await tell(sessionId, events);
  }

  async function look(sessionId: string): Promise<void> {
    const session = await store.get(sessionId);
    if (!session || (await webhooks(session.tenant)).length === 0) return;
    const events = await store.read(sessionId, { after: seen.get(sessionId) ?? 0 });
    await tell(
      sessionId,
      events.filter(isTold).filter(({ created_at }) => created_at >= since),
    );
    if (seen.size >= SEEN) seen.clear();
    seen.set(sessionId, events.at(-1)?.sequence ?? seen.get(sessionId) ?? 0);
  }

  function lookLater(sessionId: string): void {
    if (stopped || timers.has(sessionId)) return;
    const timer = setTimeout(() => {
      timers.delete(sessionId);
      const looked = wantedByAny().then((wanted) => (wanted?.size === 0 ? undefined : look(sessionId)));
      void looked.catch((error: unknown) => {
        report(error);
        lookLater(sessionId);
      });
    }, lookAgainMs).unref();
    timers.set(sessionId, timer);
  }

  /**
   * Moves the stored mark forward, unless sessions still have to be read. All notices of events before the mark are
   * stored.
   */
  async function mark(): Promise<void> {
    await deliveries.resume();
    if (timers.size > 0 || (await webhooks()).length === 0) return;
    await records.put([{ ...MARK, value: { until: new Date(now() - WINDOW_MS).toISOString() } }]);
  }

  const stopListening = store.onNews((sessionId, events) => {
    const told = events?.filter(isTold);
    if (!told) lookLater(sessionId);
    else if (told.length > 0)
      void tellIfWanted(sessionId, told).catch((error: unknown) => {
        report(error);
        lookLater(sessionId);
      });
  });
  const marking = setInterval(() => void mark().catch(report), MARK_MS).unref();

  return {
    async catchUp() {
      const kept = await records.get(MARK.tenant, MARK.kind, MARK.id);
      since = kept ? Mark.parse(kept.value).until : "";
      const tenants = new Set((await webhooks()).map(({ tenant }) => tenant));
      for (const tenant of tenants)
        for (let cursor: string | null | undefined; cursor !== null;) {
          const page = await store.list({ tenant, limit: 200, ...(cursor !== undefined && { cursor }) });
          for (const { id, updated_at } of page.items) if (updated_at >= since) await look(id);
          cursor = page.cursor;
        }
    },
    stop() {
      stopped = true;
      stopListening();
      clearInterval(marking);
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}

/**
 * Returns a function that waits for a moment and makes one call for all its callers. Later callers wait for the next
 * call.
 */
function oneForAll<Answer>(gatherMs: number, ask: () => Promise<Answer>): () => Promise<Answer> {
  let next: Promise<Answer> | undefined;
  return () => {
    next ??= delay(gatherMs, undefined, { ref: false }).then(() => {
      next = undefined;
      return ask();
    });
    return next;
  };
}

function isTold(event: Event): event is ToldEvent {
  return WebhookEvent.safeParse(event.event_type).success;
}
