import { setTimeout as delay } from "node:timers/promises";
import {
  type Claimed,
  type Engine,
  LEASE_LOST,
  type Lease,
  type LeaseClock,
  type Runtime,
  type Store,
  openingOf,
} from "@skein/core";
import { type Event, isKnownError } from "@skein/protocol";

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
const STOP_MS = 9000;

/** Facts from outside that make a session due. */
const WAKING: ReadonlySet<Event["event_type"]> = new Set([
  "prompt.accepted",
  "await.answered",
  "cancel.requested",
  "rewind.requested",
]);

/** Drives sessions in this process: woken by the store, with a sweep each second for what was not announced. */
export function createLocalEngine(deps: LocalEngineDeps): Engine {
  const { store, runtime, owner, leaseMs = 4000, concurrency = 64, now = Date.now, report = () => {} } = deps;
  const driving = new Map<
    string,
    { lease: Lease; readonly clock: LeaseClock; readonly stop: AbortController; readonly done: Promise<void> }
  >();
  /** Sessions that begin here with their lease. */
  const reserved = new Set<string>();
  /** Sessions that this process woke itself: claimed by name, which saves looking for others. */
  const hinted = new Set<string>();
  let looking = false;
  let lookAgain = false;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let renewals: NodeJS.Timeout | undefined;
  let stopListening = (): void => {};

  function begin(
    { lease, lastSequence }: Pick<Claimed, "lease" | "lastSequence">,
    asked: number,
    begins = false,
  ): void {
    const stop = new AbortController();
    const clock: LeaseClock = { validUntil: asked + lease.leaseMs };
    const held = { lease, clock, stop };
    const prolong = (leaseMs: number): Lease => (held.lease = { ...lease, leaseMs });
    const claimed: Claimed = { lease, lastSequence, clock, begins, prolong };
    const done = runtime.drive(claimed, stop.signal).finally(() => {
      driving.delete(lease.sessionId);
      look();
    });
    driving.set(lease.sessionId, Object.assign(held, { done }));
  }

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
      while (driving.size + reserved.size < concurrency) {
        if (stopped) return;
        const sessionId = nextHint();
        const everything = sessionId === undefined;
        if (everything && !sweepDue) return;
        if (everything) sweepDue = false;
        const asked = now();
        const claim = await store.claim({ owner, leaseMs, ...(sessionId !== undefined && { sessionId }) });
        if (claim.kind === "leased") {
          begin(claim, asked);
          // A backlog is taken to its end; but what this process woke itself is claimed by name, not by chance.
          if (everything && hinted.size === 0) sweepDue = true;
        } else if (claim.kind === "none" && claim.nextAt !== null) wakeAt(claim.nextAt);
      }
    } catch (error) {
      if (!isKnownError(error, "not_found", "closed", "store_unavailable")) report(error);
    }
  }

  /** Whether anything unknown may be due: at the start, after news from elsewhere, at each sweep. */
  let sweepDue = true;

  function nextHint(): string | undefined {
    for (const sessionId of hinted) {
      hinted.delete(sessionId);
      if (!driving.has(sessionId)) return sessionId;
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
    if (driving.has(sessionId) || reserved.has(sessionId) || !events.some(({ event_type }) => WAKING.has(event_type)))
      return;
    hinted.add(sessionId);
    look();
  }

  async function renew(): Promise<void> {
    const held = [...driving.values()];
    if (held.length === 0) return;
    const asked = now();
    try {
      const lost = new Set(await store.renew(held.map(({ lease }) => lease)));
      for (const { lease, clock, stop } of held)
        if (lost.has(lease)) stop.abort(LEASE_LOST);
        else clock.validUntil = Math.max(clock.validUntil, asked + lease.leaseMs);
    } catch (error) {
      if (!isKnownError(error)) report(error);
    }
  }

  async function freeTheDead(): Promise<void> {
    const owners = await store.owners();
    for (const other of owners) if (other !== owner && deps.isDead?.(other)) await store.free(other);
  }

  return {
    start() {
      stopListening = store.onNews(hear);
      renewals = setInterval(() => void renew(), leaseMs / 3).unref();
      void freeTheDead().catch(report).finally(sweep);
    },
    reserve(sessionId) {
      if (stopped || driving.size + reserved.size >= concurrency) return undefined;
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
    async stop() {
      stopped = true;
      stopListening();
      clearTimeout(timer);
      const all = Promise.all(
        [...driving.values()].map(({ stop, done }) => {
          stop.abort();
          return done;
        }),
      );
      await Promise.race([all, delay(STOP_MS, undefined, { ref: false })]);
      clearInterval(renewals);
    },
  };
}
