import {
  type Claimed,
  type Engine,
  type GiveBack,
  type Runtime,
  type StateCache,
  type Store,
  UNKNOWN_TENANT,
  createFairQueue,
} from "@skein/core";
import { type Event, isKnownError } from "@skein/protocol";
import { createDrives } from "./drives.ts";
import { createReservations } from "./reservations.ts";
import { isWoken } from "./waking-facts.ts";

export interface LocalEngineDeps {
  readonly store: Store;
  /** The runtime that works on a claimed session. */
  readonly runtime: Runtime;
  /** The states of the sessions that this process knows. */
  readonly states?: StateCache | undefined;
  /** Identifies this process: `host/pid/start`, so that the leases of dead processes can be freed. */
  readonly owner: string;
  /** Whether another owner is a process of this host that has ended. */
  readonly isDead?: (owner: string) => boolean;
  readonly leaseMs?: number;
  /** How many sessions run at the same time. */
  readonly concurrency?: number;
  /** Whether the store has several tenants. If so, no tenant may take every place. */
  readonly isShared?: (() => boolean) | undefined;
  readonly now?: () => number;
  readonly report?: (error: unknown) => void;
}

const SWEEP_MS = 1000;
/** How many due sessions of one tenant are queued at a time. */
const PER_TENANT = 64;
/** The most sessions that wait in this process. Further due sessions stay in the store. */
const LONGEST_LINE = 1000;
/** When fewer sessions than this wait, this process asks the store for more. */
const SHORT_LINE = 16;

/**
 * Runs sessions in this process. The store announces due sessions (sessions with work to do), and a search every second
 * finds due sessions that were not announced. While places are free and the store has one tenant, due sessions are
 * claimed immediately. Otherwise, sessions wait in a queue and tenants take turns.
 */
export function createLocalEngine(deps: LocalEngineDeps): Engine {
  const { store, runtime, owner, leaseMs = 4000, concurrency = 64, now = Date.now, report = () => {} } = deps;
  const { isShared = () => false } = deps;
  const drives = createDrives({ store, runtime, leaseMs, now, report });
  const places = createFairQueue({ places: concurrency, isShared });
  const stopping = new AbortController();
  const reservations = createReservations({ runtime, states: deps.states, claim: { owner, leaseMs }, now });
  /** Sessions that this process has woken. They are claimed by id, without a search. */
  const hinted = new Set<string>();
  /** Sessions that wait for a place, or are being claimed. */
  const inLine = new Set<string>();
  /** Whether more sessions may be due than this process can run. Tenants then take turns until no session waits. */
  let isCrowded = false;
  /** Whether the store may have more due sessions than are queued here. */
  let hasMore = false;
  /**
   * Whether sessions that this process does not know may be due: at the start, after a notice from another process, and
   * at each sweep.
   */
  let sweepDue = true;
  let looking = false;
  let lookAgain = false;
  let timer: NodeJS.Timeout | undefined;
  let stopListening = (): void => {};

  function begin(
    claimed: Pick<Claimed, "lease" | "lastSequence">,
    { asked, begins = false, giveBack }: { asked: number; begins?: boolean; giveBack: GiveBack },
  ): void {
    void drives.begin({ ...claimed, asked, begins }).done.finally(() => {
      giveBack();
      look();
    });
  }

  /** Claims due sessions until no session is due, or all places are taken. Only one pass runs at a time. */
  function look(): void {
    if (looking) {
      lookAgain = true;
      return;
    }
    looking = true;
    void lookAround()
      .catch(reportUnknown)
      .finally(() => {
        looking = false;
        if (lookAgain) {
          lookAgain = false;
          look();
        }
      });
  }

  async function lookAround(): Promise<void> {
    if (hasMore && inLine.size < SHORT_LINE) sweepDue = true;
    while (!stopping.signal.aborted && (hinted.size > 0 || sweepDue)) {
      if (isCrowded || isShared()) {
        await standInLine();
        continue;
      }
      const giveBack = places.tryTake(UNKNOWN_TENANT);
      if (!giveBack) isCrowded = true;
      else await claimNext(giveBack);
    }
  }

  /** Claims a session that this process has woken. If no such session is known, claims any due session. */
  async function claimNext(giveBack: GiveBack): Promise<void> {
    const hint = nextHint();
    const everything = hint === undefined;
    if (everything) sweepDue = false;
    // A search is repeated until it finds no due session. A session that this process has woken needs no search.
    if ((await claim(hint, giveBack)) && everything && hinted.size === 0) sweepDue = true;
  }

  /** Claims a session by its id. Without an id, claims any due session. Frees the place if no session was claimed. */
  async function claim(sessionId: string | undefined, giveBack: GiveBack): Promise<boolean> {
    const asked = now();
    try {
      const claimed = await store.claim({ owner, leaseMs, ...(sessionId !== undefined && { sessionId }) });
      if (claimed.kind === "leased") {
        begin(claimed, { asked, giveBack });
        return true;
      }
      if (claimed.kind === "none" && claimed.nextAt !== null) wakeAt(claimed.nextAt);
    } catch (error) {
      reportUnknown(error);
    }
    giveBack();
    return false;
  }

  /** Queues the due sessions by tenant. */
  async function standInLine(): Promise<void> {
    for (let hint = nextHint(); hint !== undefined; hint = nextHint()) {
      const session = inLine.size < LONGEST_LINE ? await store.get(hint) : undefined;
      if (session) offer(hint, session.tenant);
      else hasMore = true;
    }
    if (!sweepDue) return;
    sweepDue = false;
    const time = now();
    const due = await store.due({ before: time + SWEEP_MS, perTenant: PER_TENANT, limit: LONGEST_LINE });
    const ready = due.filter(({ dueAt }) => dueAt <= time);
    for (const { sessionId, tenant } of ready) offer(sessionId, tenant);
    hasMore = ready.length >= PER_TENANT;
    isCrowded = ready.length > 0;
    const next = due.find(({ dueAt }) => dueAt > time);
    if (next) wakeAt(next.dueAt);
  }

  function offer(sessionId: string, tenant: string): void {
    if (inLine.has(sessionId) || drives.find(sessionId) || reservations.has(sessionId)) return;
    inLine.add(sessionId);
    void places
      .take(tenant, { signal: stopping.signal })
      .then(async (giveBack) => giveBack && claim(sessionId, giveBack))
      .finally(() => inLine.delete(sessionId));
  }

  function nextHint(): string | undefined {
    for (const sessionId of hinted) {
      hinted.delete(sessionId);
      if (!drives.find(sessionId)) return sessionId;
    }
    return undefined;
  }

  function reportUnknown(error: unknown): void {
    if (!isKnownError(error, "not_found", "closed", "store_unavailable")) report(error);
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
    reservations.hear(sessionId, events);
    if (!events) {
      sweepDue = true;
      look();
      return;
    }
    // A session that this process works on notices new events without a wake-up.
    if (drives.find(sessionId) || reservations.has(sessionId) || !isWoken(events)) return;
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
    reserve(sessionId, tenant) {
      if (drives.find(sessionId) || reservations.has(sessionId) || inLine.has(sessionId)) return undefined;
      const giveBack = stopping.signal.aborted ? undefined : places.tryTake(tenant);
      if (!giveBack) return undefined;
      return reservations.reserve(sessionId, tenant, ({ claimed, asked, hasNews }) => {
        if (claimed && !stopping.signal.aborted) return begin(claimed, { asked, begins: true, giveBack });
        giveBack();
        if (claimed) {
          const next = { seen: claimed.lastSequence, dueAt: now() };
          return void store.release(claimed.lease, next).catch(report);
        }
        // Events that arrive during a reservation wake nobody, so the session is woken here.
        if (hasNews) hinted.add(sessionId);
        return look();
      });
    },
    wake(sessionId) {
      hinted.add(sessionId);
      look();
    },
    queue: places.figures,
    look: sweep,
    async stop() {
      stopping.abort();
      stopListening();
      clearTimeout(timer);
      await drives.stop();
    },
  };
}
