import type { Store } from "@skein/core";
import { type Event, WebhookEvent } from "@skein/protocol";
import { z } from "zod";
import { type Deliveries, StoredWebhook, TENANT, type ToldEvent } from "./webhook-deliveries.ts";

export interface NoticesDeps {
  readonly store: Store;
  readonly deliveries: Deliveries;
  readonly now: () => number;
  /** How long after news of another process its log is looked at. */
  readonly lookAgainMs?: number;
  readonly report: (error: unknown) => void;
}

/** Makes notices of facts. What a process appends it tells at once; the log is looked at for what nobody told. */
export interface Notices {
  /** Looks at what was appended while nobody told, or by a process that died before it did. */
  catchUp(): Promise<void>;
  stop(): void;
}

/** Facts that are older than that were told, unless a stored mark says otherwise. */
const WINDOW_MS = 5 * 60_000;
const MARK = { tenant: TENANT, kind: "mark", id: "told" } as const;
const Mark = z.object({ until: z.iso.datetime() });
const MARK_MS = 60_000;
/** Sessions of which it is remembered how far they were looked at. */
const SEEN = 10_000;
/** So many webhooks are looked at together; of more, those of one tenant. */
const FEW = 200;

export function createNotices({ store, deliveries, now, lookAgainMs = 5000, report }: NoticesDeps): Notices {
  const { records } = store;
  const timers = new Map<string, NodeJS.Timeout>();
  const seen = new Map<string, number>();
  /** Nothing before that is told by this process. */
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

  /** What webhooks of any tenant want to hear of; undefined if there are too many to look at. */
  const wantedByAny = oneForAll(async () => {
    const { items, cursor } = await records.list({ tenant: TENANT, kind: "webhook", limit: FEW });
    return cursor === null ? new Set(items.flatMap(({ value }) => StoredWebhook.parse(value).events)) : undefined;
  });

  /** Kept before it is sent: a notice that was written down survives the process. */
  async function tell(sessionId: string, events: readonly ToldEvent[]): Promise<void> {
    const wanted = await wantedByAny();
    if (wanted && !events.some(({ event_type }) => wanted.has(event_type))) return;
    const session = await store.get(sessionId);
    if (!session) return;
    for (const webhook of await webhooks(session.tenant))
      for (const event of events)
        if (webhook.events.includes(event.event_type) && event.created_at >= webhook.created_at)
          await deliveries.add(webhook, event);
  }

  async function look(sessionId: string): Promise<void> {
    if ((await wantedByAny())?.size === 0) return;
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
      void look(sessionId).catch((error: unknown) => {
        report(error);
        lookLater(sessionId);
      });
    }, lookAgainMs).unref();
    timers.set(sessionId, timer);
  }

  /** The mark says that everything before it was told; what waits to be looked at holds it back. */
  async function mark(): Promise<void> {
    await deliveries.resume();
    if (timers.size > 0 || (await webhooks()).length === 0) return;
    await records.put([{ ...MARK, value: { until: new Date(now() - WINDOW_MS).toISOString() } }]);
  }

  const stopListening = store.onNews((sessionId, events) => {
    const told = events?.filter(isTold);
    if (!told) lookLater(sessionId);
    else if (told.length > 0)
      void tell(sessionId, told).catch((error: unknown) => {
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

/** Asks once for everybody who comes while an earlier question is under way: what came after it began, it may not have seen. */
function oneForAll<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let underWay: Promise<unknown> = Promise.resolve();
  let next: Promise<Answer> | undefined;
  return () => {
    next ??= underWay
      .catch(() => undefined)
      .then(() => {
        const asked = ask();
        underWay = asked;
        next = undefined;
        return asked;
      });
    return next;
  };
}

function isTold(event: Event): event is ToldEvent {
  return WebhookEvent.safeParse(event.event_type).success;
}
