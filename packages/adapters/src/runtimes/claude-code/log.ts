import { type Lease, type LeaseClock, type SessionState, type StateCache, type Store, fold } from "@skein/core";
import { type Event, type Fact, type FactData, type Ids, type NewEvent, isKnownError } from "@skein/protocol";
import { setTimeout as delay } from "node:timers/promises";

export interface LogDeps {
  readonly store: Store;
  readonly states: StateCache;
  readonly ids: Ids;
  readonly now: () => number;
}

/** Writes facts of the driver. Each is folded as it is emitted, so that the next one can be made from the state after it. */
export type Emit = (fact: Fact) => void;

/**
 * Says what to write, given the state; answering a release gives the lease back with it. It may be called again, when
 * something from outside came in between, and must not change anything itself.
 */
export type Make = (state: SessionState, emit: Emit) => { readonly dueAt: number | null } | void;

/** The log of one session while it is driven: the folded state, and one write at a time under the lease. */
export interface Log {
  readonly state: SessionState;
  /** Answers that came from outside, by the call that they answer. */
  readonly answers: ReadonlyMap<string, FactData<"await.answered">>;
  write(make: Make): Promise<void>;
  /** Takes in what others have appended. */
  catchUp(): Promise<void>;
  readonly released: boolean;
}

/** A store that does not answer is asked again until the lease is over. */
const RETRY_MS = 50;

export function createLog(lease: Lease, clock: LeaseClock, first: SessionState, deps: LogDeps): Log {
  const { store, states, ids, now } = deps;
  const { sessionId } = lease;
  const answers = new Map<string, FactData<"await.answered">>();
  for (const { toolUseId, answer } of first.run?.calls ?? []) if (answer) answers.set(toolUseId, answer);
  let state = first;
  let released = false;
  /** After a write that failed the state is ahead of the log: nothing may be made from it any more. */
  let broken: { readonly error: unknown } | undefined;
  /** One after the other: a fact is made from the state that the one before it left. */
  let last: Promise<void> = Promise.resolve();

  function inTurn(work: () => Promise<void>): Promise<void> {
    const mine = last.then(() => {
      if (broken) throw broken.error;
      return work();
    });
    last = mine.catch((error: unknown) => void (broken ??= { error }));
    return mine;
  }

  function hear(events: readonly Event[]): void {
    for (const event of events)
      if (event.event_type === "await.answered" && !answers.has(event.data.tool_use_id))
        answers.set(event.data.tool_use_id, event.data);
  }

  async function write(make: Make): Promise<void> {
    for (;;) {
      const base = state.sequence;
      const batch: NewEvent[] = [];
      const emit: Emit = (fact) => {
        const event: NewEvent = { ...fact, id: ids() };
        batch.push(event);
        const created_at = new Date(now()).toISOString();
        fold(state, [{ ...event, session_id: sessionId, sequence: state.sequence + 1, created_at }]);
      };
      const release = make(state, emit) ?? undefined;
      if (await append(batch, base, release)) {
        released = release !== undefined;
        if (released) states.put(state);
        return;
      }
      state = await patiently(() => states.load(sessionId));
      hear(await patiently(() => store.read(sessionId, { after: base })));
    }
  }

  /** Answers false when the log had moved on, so that nothing was written. */
  async function append(batch: readonly NewEvent[], base: number, release?: { dueAt: number | null }) {
    if (batch.length === 0 && !release) return true;
    try {
      // The same ids again: if the answer was lost and not the commit, the store says so.
      const asked = await patiently(async () => {
        const asked = now();
        if (batch.length > 0)
          await store.append(sessionId, batch, { lease, expect: base, ...(release && { release }) });
        else if (release) await store.release(lease, { seen: base, dueAt: release.dueAt });
        return asked;
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
        await delay(RETRY_MS);
      }
  }

  return {
    get state() {
      return state;
    },
    get released() {
      return released;
    },
    answers,
    write: (make) => inTurn(() => write(make)),
    catchUp: () =>
      inTurn(async () => {
        if (released) return;
        const news = await patiently(() => store.read(sessionId, { after: state.sequence }));
        hear(news);
        fold(state, news);
      }),
  };
}
