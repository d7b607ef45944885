import { type Claimed, type Engine, type Runtime, type Store, openingOf } from "@skein/core";
import { type Event, isKnownError } from "@skein/protocol";
import { createDrives } from "./drives.ts";
import { createTurns } from "./tenant-turns.ts";
import { isWoken } from "./waking-facts.ts";

export interface LocalEngineDeps {
  readonly store: Store;
  /** The runtime that drives a claimed session. */
  readonly runtime: Runtime;
  /** Tells this process from others: `host:pid:start`, so that leases of dead ones can be freed. */
  readonly owner: string;
  /** Whether another owner is a process of this host that is gone. */
  readonly isDead?: (owner: string) => boolean;
  readonly leaseMs?: number;
  /** How many sessions are driven at once. */
  readonly concurrency?: number;
  readonly now?: () => number;
  readonly report?: (error: unknown) => void;
}

const SWEEP_MS = 1000;

/** Drives sessions in this process: woken by the store, with a sweep each second for what was not announced. */
export function createLocalEngine(deps: LocalEngineDeps): Engine {
  const { store, runtime, owner, leaseMs = 4000, concurrency = 64, now = Date.now, report = () => {} } = deps;
  const drives = createDrives({ store, runtime, leaseMs, now, report });
  const turns = createTurns({ store, now });
  /** Sessions that begin here with their lease. */
  const reserved = new Set<string>();
  /** Sessions that this process woke itself: claimed by name, which saves looking for others. */
  const hinted = new Set<string>();
  let looking = false;
  let lookAgain = false;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let stopListening = (): void => {};

  function begin(claimed: Pick<Claimed, "lease" | "lastSequence">, asked: number, begins = false): void {
    void drives.begin({ ...claimed, asked, begins }).done.finally(look);
  }

  const isFull = (): boolean => drives.size() + reserved.size >= concurrency;

  /** Takes what is due until nothing is, or the hands are full. One look at a time. */
  function look(): void {
    if (looking) {
      lookAgain = true;
      return;
    }
    looking = true;
    void lookAround().finally(() => {
      looking = false;
      if (lookAgain) {
        lookAgain = false;
        look();
      }
    });
  }

  async function lookAround(): Promise<void> {
    try {
      while (!isFull()) {
        if (stopped) return;
        // What this process woke itself is in the store too.
        const turn = await turns.next();
        const hint = turn ?? nextHint();
        const everything = hint === undefined;
        if (everything && !sweepDue) return;
        if (everything) sweepDue = false;
        const asked = now();
        const claim = await store.claim({ owner, leaseMs, ...(hint !== undefined && { sessionId: hint }) });
        if (claim.kind === "leased") {
          begin(claim, asked);
          // A backlog is taken to its end; but what this process woke itself is claimed by name, not by chance.
          if (everything && hinted.size === 0) sweepDue = true;
        } else if (claim.kind === "none" && claim.nextAt !== null) wakeAt(claim.nextAt);
      }
    } catch (error) {
      if (!isKnownError(error, "not_found", "closed", "store_unavailable")) report(error);
    }
    // More may be due than can be driven: who is next is then decided by turns of the tenants.
    if (isFull() && (sweepDue || hinted.size > 0)) turns.crowded();
  }

  /** Whether anything unknown may be due: at the start, after news from elsewhere, at each sweep. */
  let sweepDue = true;

  function nextHint(): string | undefined {
    for (const sessionId of hinted) {
      hinted.delete(sessionId);
      if (!drives.find(sessionId)) return sessionId;
    }
    return undefined;
  }

  function wakeAt(time: number): void {
    clearTimeout(timer);
    timer = setTimeout(sweep, Math.min(SWEEP_MS, Math.max(1, time - now()))).unref();
  }

  function sweep(): void {
    sweepDue = true;
    look();
    wakeAt(now() + SWEEP_MS);
  }

  function hear(sessionId: string, events: readonly Event[] | undefined): void {
    if (!events) {
      sweepDue = true;
      look();
      return;
    }
    // A session that is driven hears its own news.
    if (drives.find(sessionId) || reserved.has(sessionId) || !isWoken(events)) return;
    hinted.add(sessionId);
    look();
  }

  async function freeTheDead(): Promise<void> {
    const owners = await store.owners();
    for (const other of owners) if (other !== owner && deps.isDead?.(other)) await store.free(other);
  }

  return {
    start() {
      stopListening = store.onNews(hear);
      drives.start();
      void freeTheDead().catch(report).finally(sweep);
    },
    reserve(sessionId) {
      if (stopped || isFull()) return undefined;
      reserved.add(sessionId);
      const asked = now();
      const lease = { sessionId, fence: 1, owner, leaseMs };
      return {
        claim: { owner, leaseMs },
        opening: (events) => openingOf(runtime, lease, events, asked),
        settle(lastSequence) {
          reserved.delete(sessionId);
          if (lastSequence === null) look();
          else if (!stopped) begin({ lease, lastSequence }, asked, true);
          else void store.release(lease, { seen: lastSequence, dueAt: now() }).catch(report);
        },
      };
    },
    wake(sessionId) {
      hinted.add(sessionId);
      look();
    },
    look: sweep,
    async stop() {
      stopped = true;
      stopListening();
      clearTimeout(timer);
      await drives.stop();
    },
  };
}
