import { type Claim, type ClaimOptions, type Lease, type Store, dueSessions, leaseLost } from "@skein/core";
import type { Appender } from "./durable-files.ts";
import type { DocumentFolders } from "./document-folders.ts";
import type { Head, Heads } from "./heads.ts";
import { logLine } from "./session-log.ts";

export interface LeasesDeps {
  readonly heads: Heads;
  readonly appender: Appender;
  readonly documents: DocumentFolders;
  /** Runs `work` alone in the session's queue, so that a claim waits for a running append. */
  readonly alone: <Result>(sessionId: string, work: () => Result | Promise<Result>) => Promise<Result>;
  readonly now: () => number;
}

export type Leases = Pick<Store, "claim" | "due" | "renew" | "release" | "owners" | "free"> & {
  /** Stores the fences that are only in memory, so that no fence is assigned again after a restart. */
  keepFences(): Promise<void>;
};

/**
 * Leases of sessions: the exclusive right to run a session for a limited time. Leases are only in memory, because their
 * holders are in this process. The fence (the number of a lease, which only grows) and the due time of a session must
 * survive the process, so appends and `keepFences` write them to the log.
 */
export function createLeases({ heads, appender, documents, alone, now }: LeasesDeps): Leases {
  function take(head: Head, { owner, leaseMs }: ClaimOptions): Claim {
    const fence = head.fence + 1;
    heads.change(head, { fence, owner, leasedUntil: now() + leaseMs });
    return { kind: "leased", lease: { sessionId: head.id, fence, owner, leaseMs }, lastSequence: head.last };
  }

  function longestDue(): Head | { readonly nextAt: number | null } {
    const time = now();
    let best: Head | undefined;
    let nextAt: number | null = null;
    for (const head of heads.due()) {
      const readyAt = Math.max(head.dueAt ?? 0, head.leasedUntil);
      if (readyAt > time) nextAt = Math.min(nextAt ?? readyAt, readyAt);
      else if (!best || (head.dueAt ?? 0) < (best.dueAt ?? 0)) best = head;
    }
    return best ?? { nextAt };
  }

  async function claimDue(options: ClaimOptions): Promise<Claim> {
    for (;;) {
      const found = longestDue();
      if ("nextAt" in found) return { kind: "none", nextAt: found.nextAt };
      const claimed = await alone(found.id, () => {
        // While this claim waited in the queue, another caller may have claimed, released or deleted the session.
        const free = heads.find(found.id) === found && found.dueAt !== null;
        return free && Math.max(found.dueAt ?? 0, found.leasedUntil) <= now() ? take(found, options) : undefined;
      });
      if (claimed) return claimed;
    }
  }

  /** Stores the due time and the fence as a line without events. */
  async function writeHead(head: Head, dueAt: number | null, fence: number): Promise<void> {
    const log = await heads.log(head);
    const kept = { fence, due_at: dueAt };
    const bytes = logLine({
      sequence: head.last + 1,
      created_at: new Date(now()).toISOString(),
      events: [],
      head: kept,
    });
    await appender.grow({ path: heads.path(head.id), bytes, size: head.bytes });
    log.firsts.push(head.last + 1);
    log.offsets.push(head.bytes);
    heads.change(head, { bytes: head.bytes + bytes.length, kept });
    documents.changed(head, []);
  }

  /** Ends the lease and raises the fence, so that appends under the old lease are rejected. */
  function letGo(head: Head, dueAt: number | null): void {
    heads.change(head, { fence: head.fence + 1, owner: null, leasedUntil: 0, dueAt });
  }

  return {
    async claim(options) {
      const { sessionId } = options;
      if (sessionId === undefined) return claimDue(options);
      return alone(sessionId, () => {
        const head = heads.of(sessionId);
        const isBusy = head.leasedUntil > now() + (options.takeWithinMs ?? 0);
        return isBusy ? { kind: "busy", until: head.leasedUntil } : take(head, options);
      });
    },
    async due(query) {
      const rows = [...heads.due()].map(({ id, session, last, dueAt, leasedUntil }) => {
        return { sessionId: id, tenant: session?.tenant ?? "default", lastSequence: last, dueAt, leasedUntil };
      });
      return dueSessions(rows, query, now());
    },
    async renew(leases) {
      return leases.filter((lease) => {
        const head = heads.find(lease.sessionId);
        if (!head || !holds(lease, head)) return true;
        heads.change(head, { leasedUntil: now() + lease.leaseMs });
        return false;
      });
    },
    release: (lease, { seen, dueAt }) =>
      alone(lease.sessionId, async () => {
        const head = heads.of(lease.sessionId);
        if (!holds(lease, head)) throw leaseLost(lease);
        const next = head.last > seen ? Math.min(head.dueAt ?? now(), now()) : dueAt;
        // The due time must survive a restart. Most releases do not change it, so they write nothing.
        if (next !== head.kept.due_at) await writeHead(head, next, head.fence + 1);
        letGo(head, next);
      }),
    async owners(sessionId) {
      const asked = sessionId === undefined ? [...heads.all()] : [heads.find(sessionId)];
      return [...new Set(asked.flatMap((head) => head?.owner ?? []))];
    },
    async free(owner, { withinMs = Infinity } = {}) {
      const held = [...heads.all()].filter((head) => head.owner === owner && head.leasedUntil <= now() + withinMs);
      await Promise.all(
        held.map((head) =>
          alone(head.id, () => {
            if (head.owner === owner) letGo(head, head.dueAt);
          }),
        ),
      );
    },
    async keepFences() {
      for (const head of heads.all())
        if (head.fence > head.kept.fence && heads.find(head.id))
          await alone(head.id, () => writeHead(head, head.dueAt, head.fence));
    },
  };
}

function holds(lease: Lease, head: Head): boolean {
  return head.fence === lease.fence && head.owner !== null;
}
