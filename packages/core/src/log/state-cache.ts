import type { Event } from "@skein/protocol";
import { longText } from "./json-size.ts";
import { fold, restore, snapshotOf } from "./fold.ts";
import { type SessionState, emptyState } from "./state.ts";
import type { Store } from "../ports/store.ts";

export interface StateCacheDeps {
  readonly store: Store;
  /** How many folded states are kept. */
  readonly size?: number;
  /** The most characters of long texts that all kept states may have together. */
  readonly longText?: number;
}

/**
 * Folded states of sessions that this process drove or began, kept up to date with the events that this process
 * appends.
 */
export interface StateCache {
  /**
   * The state up to at least this sequence: from the cache, otherwise from snapshot and log. The caller may change the
   * state until the caller calls `put`.
   */
  take(sessionId: string, lastSequence: number): Promise<SessionState>;
  /** The state from the cache, if it is there. The caller owns the state until the caller calls `put`. */
  takeKnown(sessionId: string): SessionState | undefined;
  /** Returns a state to the cache. The state must be exactly the fold of its log. */
  put(state: SessionState): void;
  /** Reads a state from the store, without the cache. */
  load(sessionId: string): Promise<SessionState>;
  /**
   * Keeps the state of a session in the cache between `put` and `take`, whatever its size, while the session is driven.
   * Returns a function that removes this protection.
   */
  pin(sessionId: string): () => void;
  /** How many characters the long texts of a state have. */
  longText(state: SessionState): number;
  close(): void;
}

/** After how many events a new snapshot is written. */
const SNAPSHOT_EVERY = 500;

/** Without this limit, a few sessions with large messages would fill the memory. */
const LONG_TEXT = 32 * 1024 * 1024;

export function createStateCache({ store, size = 1000, longText: most = LONG_TEXT }: StateCacheDeps): StateCache {
  const states = new Map<string, { readonly state: SessionState; readonly long: number }>();
  const measured = new WeakMap<SessionState, Measured>();
  const snapshots = new Map<string, number>();
  const pinned = new Set<string>();
  let total = 0;

  function forget(sessionId: string): SessionState | undefined {
    const found = states.get(sessionId);
    states.delete(sessionId);
    total -= found?.long ?? 0;
    return found?.state;
  }

  function keep(state: SessionState): void {
    const { sessionId } = state;
    forget(sessionId);
    const long = longTextOf(state, measured);
    states.set(sessionId, { state, long });
    total += long;
    dropOldest();
  }

  function dropOldest(): void {
    for (const oldest of states.keys()) {
      if (states.size <= size && (total <= most || states.size === 1)) return;
      if (!pinned.has(oldest)) forget(oldest);
    }
  }

  /**
   * Folds the events that this process appends, so that a session that begins in this process is never read from the
   * store.
   */
  function hear(sessionId: string, events: readonly Event[] | undefined): void {
    const [first] = events ?? [];
    const known = states.get(sessionId)?.state;
    if (!first || !events) forget(sessionId);
    else if (known && first.sequence === known.sequence + 1) keep(fold(known, events));
    else if (first.sequence === 1) keep(fold(emptyState(sessionId), events));
    else forget(sessionId);
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
      const known = forget(sessionId);
      if (!known) return load(sessionId);
      if (known.sequence >= lastSequence) return known;
      return fold(known, await store.read(sessionId, { after: known.sequence }));
    },
    takeKnown: forget,
    put(state) {
      keep(state);
      const since = state.sequence - (snapshots.get(state.sessionId) ?? 0);
      if (state.run || since < SNAPSHOT_EVERY || since < state.sequence / 2) return;
      snapshots.set(state.sessionId, state.sequence);
      // A snapshot only saves work: if it cannot be written, a later snapshot replaces it.
      store.writeSnapshot(state.sessionId, snapshotOf(state)).catch(() => snapshots.delete(state.sessionId));
    },
    load,
    pin(sessionId) {
      pinned.add(sessionId);
      return () => {
        pinned.delete(sessionId);
        dropOldest();
      };
    },
    longText: (state) => longTextOf(state, measured),
    close() {
      stop();
      states.clear();
      total = 0;
    },
  };
}

/** The characters of all long texts in the first `messages` messages of a transcript. */
interface Measured {
  readonly messages: number;
  readonly long: number;
}

/** The long texts of a state. Messages enter a transcript one by one, so only the new ones are measured. */
function longTextOf(state: SessionState, measured: WeakMap<SessionState, Measured>): number {
  const { transcript, pending } = state;
  const known = measured.get(state);
  const { messages: from, long: before } =
    known && known.messages <= transcript.length ? known : { messages: 0, long: 0 };
  let long = before;
  for (let at = from; at < transcript.length; at++) long += longText(transcript[at]?.content);
  measured.set(state, { messages: transcript.length, long });
  return long + longText(pending);
}
