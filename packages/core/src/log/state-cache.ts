import type { Event } from "@skein/protocol";
import { fold, restore, snapshotOf } from "./fold.ts";
import { type SessionState, emptyState } from "./state.ts";
import type { Store } from "../ports/store.ts";

export interface StateCacheDeps {
  readonly store: Store;
  /** How many folded states are kept. */
  readonly size?: number;
}

/** Folded states of sessions that were driven or begun here, kept up to date by what this process appends. */
export interface StateCache {
  /** The state up to at least this sequence: from the cache, else from snapshot and log. The caller owns it until it gives it back. */
  take(sessionId: string, lastSequence: number): Promise<SessionState>;
  /** Gives a state back that is exactly the fold of its log. */
  put(state: SessionState): void;
  /** Reads a state from the store, without the cache. */
  load(sessionId: string): Promise<SessionState>;
  close(): void;
}

/** After how many events a new snapshot is written. */
const SNAPSHOT_EVERY = 500;

export function createStateCache({ store, size = 1000 }: StateCacheDeps): StateCache {
  const states = new Map<string, SessionState>();
  const snapshots = new Map<string, number>();

  function keep(state: SessionState): void {
    states.delete(state.sessionId);
    states.set(state.sessionId, state);
    for (const oldest of states.keys()) {
      if (states.size <= size) return;
      states.delete(oldest);
    }
  }

  /** Folds the events that this process appends, so that a session that begins here never has to be read. */
  function hear(sessionId: string, events: readonly Event[] | undefined): void {
    const [first] = events ?? [];
    const known = states.get(sessionId);
    if (!first || !events) {
      states.delete(sessionId);
      return;
    }
    if (known && first.sequence === known.sequence + 1) fold(known, events);
    else if (first.sequence === 1) keep(fold(emptyState(sessionId), events));
    else states.delete(sessionId);
  }

  async function load(sessionId: string): Promise<SessionState> {
    const snapshot = await store.readSnapshot(sessionId);
    const restored = snapshot && restore(snapshot);
    snapshots.set(sessionId, restored?.sequence ?? 0);
    const start = restored ?? emptyState(sessionId);
    return fold(start, await store.read(sessionId, { after: start.sequence }));
  }

  const stop = store.onNews(hear);
  return {
    async take(sessionId, lastSequence) {
      const known = states.get(sessionId);
      states.delete(sessionId);
      if (!known) return load(sessionId);
      if (known.sequence >= lastSequence) return known;
      return fold(known, await store.read(sessionId, { after: known.sequence }));
    },
    put(state) {
      keep(state);
      const since = state.sequence - (snapshots.get(state.sessionId) ?? 0);
      if (state.run || since < SNAPSHOT_EVERY || since < state.sequence / 2) return;
      snapshots.set(state.sessionId, state.sequence);
      // A snapshot only saves work: if it cannot be written, a later one is.
      store.writeSnapshot(state.sessionId, snapshotOf(state)).catch(() => snapshots.delete(state.sessionId));
    },
    load,
    close() {
      stop();
      states.clear();
    },
  };
}
