import { type Event, type Fact, type Ids, type NewEvent, isKnownError } from "@skein/protocol";
import { withPlaces } from "../log/append-rules.ts";
import { fold } from "../log/fold.ts";
import type { Timers } from "../ports/timers.ts";
import type { LeaseClock } from "../ports/runtime.ts";
import type { SessionState } from "../log/state.ts";
import type { StateCache } from "../log/state-cache.ts";
import type { Lease, Store } from "../ports/store.ts";

export interface DriverLogDeps {
  readonly store: Store;
  readonly states: StateCache;
  readonly timers: Timers;
  readonly now: () => number;
  readonly ids: Ids;
}

/**
 * The facts of one append. Each fact is folded when it is added, so that the next one can be made from the new state.
 */
export interface Batch {
  readonly state: SessionState;
  /** The time of all facts of the batch. */
  readonly now: number;
  readonly events: readonly NewEvent[];
  add(...facts: readonly Fact[]): void;
}

/**
 * Adds the facts of the next append to a batch. If it returns `dueAt`, the same append releases the lease, and the
 * session is due at that time. It is called again with the new state if another writer has appended an event, so it
 * must have no side effects.
 */
type MakeFacts = (batch: Batch) => { readonly dueAt: number | null } | null | void;

/** A session that is driven: its lease, and its state when it was claimed. */
export interface Driven {
  readonly lease: Lease;
  readonly clock: LeaseClock;
  readonly state: SessionState;
  /** The last sequence in notices that arrived while the state was read. */
  readonly heard?: number;
  /** Called with the events of other writers when they are folded. */
  readonly takenIn?: (events: readonly Event[]) => void;
}

/** The log of one session while it is driven: the folded state, and one write at a time under the lease. */
export interface DriverLog {
  readonly state: SessionState;
  /** Whether the lease was released. */
  readonly released: boolean;
  /** Whether other writers may have appended events that the state does not include. */
  readonly isBehind: boolean;
  write(make: MakeFacts): Promise<void>;
  /** Reads and folds the events that other writers have appended. */
  catchUp(): Promise<void>;
  /** Calls back whenever other writers have appended events. Returns a function that unsubscribes. */
  onNews(listener: () => void): () => void;
}

/** The delay between retries while the store is unavailable, until the lease expires. */
const RETRY_MS = 50;

export function createDriverLog(driven: Driven, deps: DriverLogDeps): DriverLog {
  const { lease, clock, state: claimed, takenIn } = driven;
  const { store, states, now } = deps;
  const { sessionId } = lease;
  const inTurn = createTurns();
  let state = claimed;
  let released = false;
  /** The last sequence in a notice of new events. Infinity if a notice had no sequence. */
  let heard = driven.heard ?? 0;

  async function write(make: MakeFacts): Promise<void> {
    for (;;) {
      const base = state.sequence;
      const batch = createBatch(state, deps);
      const release = make(batch) ?? undefined;
      if (await append(batch.events, base, release)) {
        released = release !== undefined;
        if (released) states.put(state);
        return;
      }
      heard = 0;
      state = await patiently(() => states.load(sessionId));
      if (takenIn) takenIn(await patiently(() => store.read(sessionId, { after: base })));
    }
  }

  /** Returns false if nothing was written because the log had new events. */
  async function append(events: readonly NewEvent[], base: number, release?: { readonly dueAt: number | null }) {
    // Nothing is written, so the lease is not renewed.
    if (events.length === 0 && !release) return true;
    try {
      // Retries use the same ids. If the events were stored and only the store's response was lost, the store returns
      // them.
      const asked = await patiently(async () => {
        const at = now();
        if (events.length > 0)
          await store.append(sessionId, events, { lease, expect: base, ...(release && { release }) });
        else if (release) await store.release(lease, { seen: base, dueAt: release.dueAt });
        return at;
      });
      clock.validUntil = Math.max(clock.validUntil, asked + lease.leaseMs);
      return true;
    } catch (error) {
      if (isKnownError(error, "conflict")) return false;
      throw error;
    }
  }

  /** Retries while the store is unavailable, until the lease expires. */
  async function patiently<Result>(ask: () => Promise<Result>): Promise<Result> {
    for (;;)
      try {
        return await ask();
      } catch (error) {
        const again = isKnownError(error, "store_unavailable", "disk_full") && now() < clock.validUntil;
        if (!again) throw error;
        await deps.timers.sleep(RETRY_MS, new AbortController().signal);
      }
  }

  async function catchUp(): Promise<void> {
    if (released) return;
    // The reset comes before the read, so that events during the read count as news again.
    heard = 0;
    const news = await patiently(() => store.read(sessionId, { after: state.sequence }));
    fold(state, news);
    takenIn?.(news);
  }

  return {
    get state() {
      return state;
    },
    get released() {
      return released;
    },
    get isBehind() {
      return heard > state.sequence;
    },
    write: (make) => inTurn(() => write(make)),
    catchUp: () => inTurn(catchUp),
    onNews: (listener) =>
      onSequence(store, sessionId, (sequence) => {
        heard = Math.max(heard, sequence);
        // The driver has already folded its own events, so only events of other writers are news.
        if (heard > state.sequence) listener();
      }),
  };
}

/** Listens for events that are appended to a session while its state is read. `heard` returns the last sequence. */
export interface Ear {
  heard(): number;
  stop(): void;
}

export function createEar(store: Store, sessionId: string): Ear {
  let heard = 0;
  const stop = onSequence(store, sessionId, (sequence) => void (heard = Math.max(heard, sequence)));
  return { heard: () => heard, stop };
}

function onSequence(store: Store, sessionId: string, listener: (sequence: number) => void): () => void {
  return store.onNews((id, events) => {
    if (id === sessionId) listener(events?.at(-1)?.sequence ?? Number.POSITIVE_INFINITY);
  });
}

/** Folds facts before they are stored. If the append is rejected, the state must be read again. */
export function createBatch(state: SessionState, deps: Pick<DriverLogDeps, "ids" | "now">): Batch {
  const events: NewEvent[] = [];
  const now = deps.now();
  const createdAt = new Date(now).toISOString();
  return {
    state,
    now,
    events,
    add(...facts) {
      const added = facts.map((fact): NewEvent => ({ ...fact, id: deps.ids() }));
      fold(state, withPlaces(state.sessionId, added, { first: state.sequence + 1, createdAt }));
      events.push(...added);
    },
  };
}

/** Runs tasks one after the other. After a failure no further task runs, because the state may be ahead of the log. */
function createTurns(): (work: () => Promise<void>) => Promise<void> {
  let broken: { readonly error: unknown } | undefined;
  let last: Promise<void> = Promise.resolve();
  return (work) => {
    const mine = last.then(() => {
      if (broken) throw broken.error;
      return work();
    });
    last = mine.catch((error: unknown) => void (broken ??= { error }));
    return mine;
  };
}
