import type { Event } from "@skein/protocol";
import { longText } from "./json-size.ts";
import { fold, restore, snapshotOf } from "./fold.ts";
import { type SessionState, emptyState } from "./state.ts";
import type { Store } from "../ports/store.ts";

export interface StateCacheDeps {
  readonly store: Store;
  /** How many folded states are kept. */
  readonly size?: number;
  /** The limit for the long texts of all kept states together, in characters. */
  readonly longText?: number;
}

/**
 * A cache of session states, for sessions that this process drove or created. The events that this process appends keep
 * the states up to date.
 */
export interface StateCache {
  /**
   * Returns the state up to `lastSequence` or a later event, from the cache or from the store. The caller may change
   * the state until it calls `put`.
   */
  take(sessionId: string, lastSequence: number): Promise<SessionState>;
  /** Returns the state if the cache has it. The caller may change the state until it calls `put`. */
  takeKnown(sessionId: string): SessionState | undefined;
  /** Puts a state back into the cache. The state must be exactly the fold of its log. */
  put(state: SessionState): void;
  /** Reads a state from the store, without the cache. */
  load(sessionId: string): Promise<SessionState>;
  /**
   * Keeps the state of a driven session in the cache between `put` and `take`, even if the state is large. Returns a
   * function that ends this.
   */
  pin(sessionId: string): () => void;
  /** How many characters the long texts of a state have. */
  longText(state: SessionState): number;
  close(): void;
}

/** A new snapshot is written after this many events or more. */
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
   * Applies the events that this process appends. So a session that begins in this process is not read from the
   * store while its state is cached.
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
      // A snapshot only saves work. If it cannot be written, a later snapshot replaces it.
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

/** Counts the characters in the long texts of a state. Only messages since the last count are measured. */
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
