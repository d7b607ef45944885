import type { ChangedSession, Store } from "@skein/core";
import { MARGIN_MS, type TenantChanges } from "./tenant-changes.ts";

/** The connection over which the changes of a tenant's sessions are sent. */
export interface ChangeSink {
  readonly signal: AbortSignal;
  /** Tells the reader that the stream has begun. A reader that reconnects with the cursor misses no later change. */
  opened(cursor: string): boolean | Promise<boolean>;
  change(change: ChangedSession, cursor: string): boolean | Promise<boolean>;
  /** Tells the reader that its cursor is invalid, and that it must list the sessions again. */
  reset(given: string): boolean | Promise<boolean>;
}

export interface TenantStreamOptions {
  readonly store: Store;
  readonly changes: TenantChanges;
  readonly tenant: string;
  readonly agentId?: string | undefined;
  /** The cursor of the reader. Without a cursor, the stream has only new changes. */
  readonly after: string | undefined;
  readonly now: () => number;
}

const PAGE = 100;
/** How many changed sessions are kept for a slow reader. If there are more, they are read from the store later. */
const MOST_PENDING = 1000;
/** The number of sessions whose last sent change is remembered. Changes of other sessions may be sent twice. */
const MOST_SENT = 5000;

/**
 * Sends the sessions of a tenant that changed since the reader's cursor. Then sends further changes until the sink
 * ends. Several changes of a session within a short time are sent as one change. A slow reader does not fill the
 * memory.
 */
export async function streamTenant(options: TenantStreamOptions, sink: ChangeSink): Promise<void> {
  const { store, changes, tenant, agentId, now } = options;
  const pending = new Map<string, ChangedSession>();
  const sent = new Map<string, number>();
  let isBehind = false;
  let wake = (): void => {};
  // Listens before reading the store, so that no change is missed.
  const subscription = changes.subscribe(tenant, (news) => {
    for (const change of news) {
      const { id, agent_id } = change.session;
      if (agentId !== undefined && agent_id !== agentId) continue;
      if ((sent.get(id) ?? 0) < change.lastSequence) pending.set(id, change);
    }
    if (pending.size > MOST_PENDING) {
      pending.clear();
      isBehind = true;
    }
    wake();
  });
  sink.signal.addEventListener("abort", () => wake(), { once: true });

  async function send(change: ChangedSession, cursor: number): Promise<boolean> {
    const { session, lastSequence } = change;
    if ((sent.get(session.id) ?? 0) >= lastSequence) return true;
    sent.delete(session.id);
    sent.set(session.id, lastSequence);
    const [oldest] = sent.keys();
    if (sent.size > MOST_SENT && oldest !== undefined) sent.delete(oldest);
    return sink.change(change, cursorAt(cursor));
  }

  /** Sends the changes since a time, page by page. */
  async function catchUp(from: number): Promise<boolean> {
    const since = new Date(from - MARGIN_MS).toISOString();
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await store.changed({
        tenant,
        since,
        limit: PAGE,
        ...(agentId !== undefined && { agentId }),
        ...(cursor !== undefined && { cursor }),
      });
      // Changes come in the order of their times, so all older changes have been sent.
      for (const change of page.items)
        if (!(await send(change, Math.max(from, Math.min(Date.parse(change.session.updated_at), now()))))) return false;
      cursor = page.cursor;
    }
    return true;
  }

  try {
    const began = now();
    const after = options.after === undefined ? began : Math.min(timeOf(options.after) ?? Number.NaN, began);
    if (Number.isNaN(after) && !(await sink.reset((options.after ?? "").slice(0, 100)))) return;
    let complete = Number.isNaN(after) ? began : after;
    if (!(await sink.opened(cursorAt(complete)))) return;
    if (complete < began && !(await catchUp(complete))) return;
    complete = began;
    while (!sink.signal.aborted) {
      if (isBehind) {
        isBehind = false;
        const reading = now();
        if (!(await catchUp(complete))) return;
        complete = reading;
        continue;
      }
      const batch = [...pending.values()];
      pending.clear();
      if (batch.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (sink.signal.aborted || isBehind || pending.size > 0) resolve();
        });
        continue;
      }
      // Only the last change of a batch moves the cursor. A reader that is disconnected earlier gets the whole batch
      // again.
      const next = Math.max(complete, subscription.completeUntil());
      for (const [at, change] of batch.entries())
        if (!(await send(change, at === batch.length - 1 ? next : complete))) return;
      complete = next;
    }
  } finally {
    subscription.end();
  }
}

/** Encodes a time as an opaque cursor. */
function cursorAt(time: number): string {
  return Buffer.from(`c1 ${time}`).toString("base64url");
}

function timeOf(cursor: string): number | undefined {
  const [, time] = /^c1 (\d{1,15})$/.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  return time === undefined ? undefined : Number(time);
}
