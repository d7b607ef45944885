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

/** What is about to be appended. Each fact is folded as it is added, so that the next one can be made from the state after it. */
export interface Batch {
  readonly state: SessionState;
  /** The time of all of it. */
  readonly now: number;
  readonly events: readonly NewEvent[];
  add(...facts: readonly Fact[]): void;
}

/**
 * Says what to write, given the state. Answering with a time gives the lease back in the same append. It may be called again,
 * when somebody else's event came in between, and must change nothing itself.
 */
type MakeFacts = (batch: Batch) => { readonly dueAt: number | null } | null | void;

/** A session that is driven: the right to, and the state that it had when it was claimed. */
export interface Driven {
  readonly lease: Lease;
  readonly clock: LeaseClock;
  readonly state: SessionState;
  /** Told the events that others have appended, when they are taken in. */
  readonly takenIn?: (events: readonly Event[]) => void;
}

/** The log of one session while it is driven: the folded state, and one write at a time under the lease. */
export interface DriverLog {
  readonly state: SessionState;
  /** Whether the lease was given back. */
  readonly released: boolean;
  /** Whether others may have appended something that the state does not have. */
  readonly isBehind: boolean;
  write(make: MakeFacts): Promise<void>;
  /** Takes in what others have appended. */
  catchUp(): Promise<void>;
  /** Calls back whenever the log falls behind, until it is told to stop. */
  onNews(listener: () => void): () => void;
}

/** A store that does not answer is asked again after this time, until the lease is over. */
const RETRY_MS = 50;

export function createDriverLog({ lease, clock, state: claimed, takenIn }: Driven, deps: DriverLogDeps): DriverLog {
  const { store, states, now } = deps;
  const { sessionId } = lease;
  const inTurn = createTurns();
  let state = claimed;
  let released = false;
  /** The last event that was heard of; infinity if only that there is one. */
  let heard = 0;

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

  /** Answers false when the log had moved on, so that nothing was written. */
  async function append(events: readonly NewEvent[], base: number, release?: { readonly dueAt: number | null }) {
    // Without a word to the store nothing is known about the lease.
    if (events.length === 0 && !release) return true;
    try {
      // The same ids again: if the answer was lost and not the commit, the store says so.
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

  /** Tries again while the store is away, until the lease is over. */
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
    // Before the read: what is appended while it goes on is news again.
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
      store.onNews((id, events) => {
        if (id !== sessionId) return;
        heard = Math.max(heard, events?.at(-1)?.sequence ?? Number.POSITIVE_INFINITY);
        // What this driver wrote itself is folded already.
        if (heard > state.sequence) listener();
      }),
  };
}

/** Folds facts that are about to be stored. If they are refused, the state must be read anew. */
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

/** Does one thing after the other. After one that failed nothing is done any more: the state may be ahead of the log. */
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
