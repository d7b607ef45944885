import { type Event, KnownError, type NewEvent } from "@skein/protocol";
import {
  checkAppend,
  keyReused,
  leaseLost,
  logMoved,
  withPlaces,
  sessionNotFound,
  sessionTaken,
} from "../log/append-rules.ts";
import { dueSessions } from "../log/due-sessions.ts";
import { type Followers, createFollowers } from "../log/followers.ts";
import { createMemoryLists } from "./memory-lists.ts";
import { createMemoryRecords } from "./memory-records.ts";
import { type SessionTables, applyChanges, checkChanges, pageOfMessages, pageOfRuns } from "./memory-tables.ts";
import { project } from "../log/projection.ts";
import { addedUsage, countedTools } from "../sessions/usage.ts";
import type { AppendOptions, Appended, Claim, ClaimOptions, Lease, Snapshot, Store } from "../ports/store.ts";

interface Head {
  readonly log: Event[];
  readonly ids: Map<string, number>;
  tables: SessionTables;
  fence: number;
  owner: string | null;
  leasedUntil: number;
  dueAt: number | null;
  snapshot: Snapshot | undefined;
}

export interface MemoryStoreDeps {
  readonly now?: () => number;
}

/** The reference store: the shortest implementation of the rules of `Store`. Unit tests and the simulation use it. */
export function createMemoryStore({ now = Date.now }: MemoryStoreDeps = {}): Store {
  const heads = new Map<string, Head>();
  const keys = new Map<string, { fingerprint: string; sessionId: string; first: number; last: number }>();
  const followers: Followers = createFollowers({
    // The events are in memory anyway, so the read limits only their number.
    async read(sessionId, after, most) {
      const { log } = headOf(sessionId);
      return { events: log.slice(after, after + most.events), full: log.length > after + most.events };
    },
  });
  let closed = false;

  function headOf(sessionId: string, tenant?: string): Head {
    if (closed) throw new KnownError("closed", "The store is closed.");
    const head = heads.get(sessionId);
    if (!head || (tenant !== undefined && head.tables.session.tenant !== tenant)) throw sessionNotFound(sessionId);
    return head;
  }

  function heldBy(lease: Lease): Head {
    const head = headOf(lease.sessionId);
    if (head.fence !== lease.fence || head.owner === null) throw leaseLost(lease);
    return head;
  }

  /**
   * Returns the stored events if this append is a repetition. A repetition has the event ids or the idempotency key of
   * an earlier append.
   */
  function earlier(
    sessionId: string,
    events: readonly NewEvent[],
    options: AppendOptions,
  ): readonly Event[] | undefined {
    if (options.key) {
      const kept = keys.get(keyOf(events, options));
      if (kept && kept.fingerprint !== options.key.fingerprint) throw keyReused(options.key.id);
      if (kept) return headOf(kept.sessionId).log.slice(kept.first - 1, kept.last);
    }
    const first = heads.get(sessionId)?.ids.get(events[0]?.id ?? "");
    if (first === undefined) return undefined;
    return headOf(sessionId, options.tenant).log.slice(first - 1, first - 1 + events.length);
  }

  function keyOf(events: readonly NewEvent[], { key, tenant }: AppendOptions): string {
    const [created] = events;
    const owner = created?.event_type === "session.created" ? created.data.tenant : tenant;
    return JSON.stringify([owner, key?.id]);
  }

  function append(sessionId: string, newEvents: readonly NewEvent[], options: AppendOptions): Appended {
    if (closed) throw new KnownError("closed", "The store is closed.");
    checkAppend(sessionId, newEvents, options);
    const stored = earlier(sessionId, newEvents, options);
    if (stored) return { events: stored, repeated: true };

    const { expect, lease, key, dueAt, release, claim } = options;
    const begins = newEvents[0]?.event_type === "session.created";
    const head = begins ? heads.get(sessionId) : headOf(sessionId, options.tenant);
    if (lease) heldBy(lease);
    const last = head?.log.length ?? 0;
    if (begins && head) throw logMoved(sessionId, 0, last);
    if (expect !== undefined && expect !== last) throw logMoved(sessionId, expect, last);
    if (claim && head && head.leasedUntil > now()) throw sessionTaken(sessionId);

    const events = withPlaces(sessionId, copied(newEvents), { first: last + 1, createdAt: isoTime(now()) });
    const changes = project(events);
    checkChanges(head?.tables, changes);
    const tables = applyChanges(head?.tables, changes);
    const target = head ?? newHead(tables);
    heads.set(sessionId, target);
    for (const event of events) {
      target.log.push(event);
      target.ids.set(event.id, event.sequence);
    }
    if (key)
      keys.set(keyOf(newEvents, options), {
        fingerprint: key.fingerprint,
        sessionId,
        first: last + 1,
        last: last + events.length,
      });
    if (lease) target.leasedUntil = now() + lease.leaseMs;
    if (claim) takeLease(target, claim, now());
    if (dueAt !== undefined) target.dueAt = lease ? dueAt : Math.min(target.dueAt ?? dueAt, dueAt);
    if (release) letGo(target, release.dueAt);
    followers.deliver(sessionId, events);
    return { events, repeated: false, ...(claim && { fence: target.fence }) };
  }

  function claimOne(options: ClaimOptions): Claim {
    const { sessionId, owner, leaseMs, takeWithinMs = 0 } = options;
    const time = now();
    if (sessionId !== undefined) {
      const head = headOf(sessionId);
      const isBusy = head.leasedUntil > time + takeWithinMs;
      return isBusy ? { kind: "busy", until: head.leasedUntil } : take(sessionId, head);
    }
    let best: [string, Head] | undefined;
    let nextAt: number | null = null;
    for (const [id, head] of heads) {
      if (head.dueAt === null) continue;
      const readyAt = Math.max(head.dueAt, head.leasedUntil);
      if (readyAt > time) nextAt = Math.min(nextAt ?? readyAt, readyAt);
      else if (!best || head.dueAt < (best[1].dueAt ?? 0)) best = [id, head];
    }
    return best ? take(...best) : { kind: "none", nextAt };

    function take(id: string, head: Head): Claim {
      takeLease(head, options, time);
      const lease = { sessionId: id, fence: head.fence, owner, leaseMs };
      return { kind: "leased", lease, lastSequence: head.log.length };
    }
  }

  const store: Store = {
    append: async (sessionId, events, options = {}) => append(sessionId, events, options),
    async read(sessionId, { tenant, after = 0, limit } = {}) {
      return headOf(sessionId, tenant).log.slice(after, limit === undefined ? undefined : after + limit);
    },
    async *follow(sessionId, { tenant, after = 0, onCaughtUp }, signal) {
      headOf(sessionId, tenant);
      yield* followers.follow(sessionId, { after, onCaughtUp }, signal);
    },
    async *scan(after) {
      for (const sessionId of [...heads.keys()].sort()) {
        if (after && sessionId < after.sessionId) continue;
        yield* headOf(sessionId).log.slice(after?.sessionId === sessionId ? after.sequence : 0);
      }
    },

    claim: async (options) => claimOne(options),
    due: async (query) =>
      dueSessions(
        [...heads].map(([sessionId, { dueAt, leasedUntil, log, tables }]) => {
          return { sessionId, tenant: tables.session.tenant, lastSequence: log.length, dueAt, leasedUntil };
        }),
        query,
        now(),
      ),
    async renew(leases) {
      return leases.filter((lease) => {
        const head = heads.get(lease.sessionId);
        if (!head || head.fence !== lease.fence || head.owner === null) return true;
        head.leasedUntil = now() + lease.leaseMs;
        return false;
      });
    },
    async release(lease, { seen, dueAt }) {
      const head = heldBy(lease);
      letGo(head, head.log.length > seen ? Math.min(head.dueAt ?? now(), now()) : dueAt);
    },
    async owners(sessionId) {
      const asked = sessionId === undefined ? [...heads.values()] : [heads.get(sessionId)];
      return [...new Set(asked.flatMap((head) => head?.owner ?? []))];
    },
    async free(owner, { withinMs = Infinity } = {}) {
      for (const head of heads.values())
        if (head.owner === owner && head.leasedUntil <= now() + withinMs) letGo(head, head.dueAt);
    },
    onNews: (listener) => followers.onNews(listener),
    poke: (sessionId) => followers.poke(sessionId),

    async get(sessionId, { tenant } = {}) {
      const session = heads.get(sessionId)?.tables.session;
      return session && (tenant === undefined || session.tenant === tenant) ? session : undefined;
    },
    ...createMemoryLists(heads),
    usage: (query) => addedUsage(store, query),
    toolUsage: (query) => countedTools(store, query),
    messages: async (sessionId, options = {}) => pageOfMessages(headOf(sessionId, options.tenant).tables, options),
    runs: async (sessionId, options = {}) => pageOfRuns(headOf(sessionId, options.tenant).tables, options),
    async awaits(sessionId, { tenant } = {}) {
      return headOf(sessionId, tenant).tables.awaits.filter(({ closed_at }) => closed_at === null);
    },
    checkpoints: async (sessionId, { tenant } = {}) => headOf(sessionId, tenant).tables.checkpoints,

    readSnapshot: async (sessionId) => heads.get(sessionId)?.snapshot,
    async writeSnapshot(sessionId, snapshot) {
      headOf(sessionId).snapshot = snapshot;
    },

    async delete(sessionId, { tenant } = {}) {
      headOf(sessionId, tenant);
      heads.delete(sessionId);
      for (const [key, kept] of keys) if (kept.sessionId === sessionId) keys.delete(key);
      followers.end(sessionId);
    },

    records: createMemoryRecords({ now }),
    async close() {
      closed = true;
      followers.close();
    },
  };
  return store;
}

/** Releases a lease. This raises the fence, so that later appends under the old lease are rejected. */
function letGo(head: Head, dueAt: number | null): void {
  head.fence += 1;
  head.owner = null;
  head.leasedUntil = 0;
  head.dueAt = dueAt;
}

function newHead(tables: SessionTables): Head {
  return { log: [], ids: new Map(), tables, fence: 0, owner: null, leasedUntil: 0, dueAt: null, snapshot: undefined };
}

/** Copies events through JSON. The copy contains what other stores would store, and callers cannot change it. */
function copied(events: readonly NewEvent[]): readonly NewEvent[] {
  return events.map((event) => ({ ...event, data: JSON.parse(JSON.stringify(event.data)) }));
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

function takeLease(head: Head, { owner, leaseMs }: Pick<ClaimOptions, "owner" | "leaseMs">, now: number): void {
  head.fence += 1;
  head.owner = owner;
  head.leasedUntil = now + leaseMs;
}
