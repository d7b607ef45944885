import type { ChangedSession, Store } from "@skein/core";
import { MARGIN_MS, type TenantChanges } from "./tenant-changes.ts";

/** Where the changes of a tenant's sessions go. */
export interface ChangeSink {
  readonly signal: AbortSignal;
  /** The stream began. A reader that comes again with the cursor misses nothing that happened since. */
  opened(cursor: string): boolean | Promise<boolean>;
  change(change: ChangedSession, cursor: string): boolean | Promise<boolean>;
  /** The cursor that the reader sent is none: it has to list again. */
  reset(given: string): boolean | Promise<boolean>;
}

export interface TenantStreamOptions {
  readonly store: Store;
  readonly changes: TenantChanges;
  readonly tenant: string;
  readonly agentId?: string | undefined;
  /** The cursor of the reader; without one it begins with what changes from now on. */
  readonly after: string | undefined;
  readonly now: () => number;
}

const PAGE = 100;
/** Sessions whose changes wait for a slow reader. With more of them, they are read from the store when it is their turn. */
const MOST_PENDING = 1000;
/** Sessions of which it is remembered what the reader has. One that is forgotten may be sent again. */
const MOST_SENT = 5000;

/**
 * Sends which sessions of a tenant changed: first those that changed since the reader's cursor, then as it happens, until
 * the sink ends. Several changes of a session that come close together are one. Memory is bounded, however far behind
 * the reader is.
 */
export async function streamTenant(options: TenantStreamOptions, sink: ChangeSink): Promise<void> {
  const { store, changes, tenant, agentId, now } = options;
  const pending = new Map<string, ChangedSession>();
  const sent = new Map<string, number>();
  let isBehind = false;
  let wake = (): void => {};
  // Listen before reading: what changes in between then waits here instead of being missed.
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

  /** Sends what changed since a time, page by page. */
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
      // They come in the order of their times: what is older than one of them has been sent.
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
      // The cursor moves with the last one: a reader that is cut before it asks for the whole batch again.
      const next = Math.max(complete, subscription.completeUntil());
      for (const [at, change] of batch.entries())
        if (!(await send(change, at === batch.length - 1 ? next : complete))) return;
      complete = next;
    }
  } finally {
    subscription.end();
  }
}

/** A time as readers see it: nothing to read, only to send back. */
function cursorAt(time: number): string {
  return Buffer.from(`c1 ${time}`).toString("base64url");
}

function timeOf(cursor: string): number | undefined {
  const [, time] = /^c1 (\d{1,15})$/.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  return time === undefined ? undefined : Number(time);
}
