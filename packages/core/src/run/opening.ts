import type { NewEvent } from "@skein/protocol";
import { withPlaces } from "../log/append-rules.ts";
import { fold } from "../log/fold.ts";
import { type SessionState, emptyState } from "../log/state.ts";
import type { StateCache } from "../log/state-cache.ts";
import type { Runtime } from "../ports/runtime.ts";

/**
 * The first events of a run. The append of the prompt contains these events and takes the lease. Reasons:
 * docs/decisions/083-a-session-begins-with-its-first-step.md.
 */
export interface Opening {
  /** The last sequence that the log must have when these events are appended. */
  readonly expect: number;
  readonly events: readonly NewEvent[];
  /**
   * Keeps the state of the session, so that it need not be read again. Call this if the events were stored and nobody
   * has appended anything after them.
   */
  keep(): void;
}

export interface OpeningDeps {
  readonly runtime: Runtime;
  /** The states of sessions that this process knows. Without `states`, only new sessions have an opening. */
  readonly states?: Pick<StateCache, "takeKnown" | "put"> | undefined;
  readonly now: () => number;
}

/** The session that gets a prompt, and the events of the append without the opening. */
interface Prompted {
  readonly sessionId: string;
  readonly tenant: string;
  readonly events: readonly NewEvent[];
}

/**
 * Returns the opening of the run that a prompt begins. Undefined if this process is not sure that the session is idle.
 */
export async function openingOf(
  { runtime, states, now }: OpeningDeps,
  { sessionId, tenant, events }: Prompted,
): Promise<Opening | undefined> {
  const begins = events[0]?.event_type === "session.created";
  const state = begins ? emptyState(sessionId) : states?.takeKnown(sessionId);
  if (!state) return undefined;
  if (!begins && (!isIdle(state) || state.tenant !== tenant)) {
    states?.put(state);
    return undefined;
  }
  const expect = state.sequence;
  fold(state, withPlaces(sessionId, events, { first: expect + 1, createdAt: new Date(now()).toISOString() }));
  const added = (await runtime.opening?.(state)) ?? [];
  // The cache already keeps the state of a new session, because it hears of the first event.
  return { expect, events: added, keep: () => (begins ? undefined : states?.put(state)) };
}

function isIdle({ run, queue }: SessionState): boolean {
  return run === null && queue.length === 0;
}
