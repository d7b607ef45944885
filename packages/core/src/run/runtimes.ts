import { type AgentConfig, type Ids, type NewEvent, isKnownError } from "@skein/protocol";
import { withPlaces } from "../log/append-rules.ts";
import { fold } from "../log/fold.ts";
import { emptyState } from "../log/state.ts";
import type { StateCache } from "../log/state-cache.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Lease, Store } from "../ports/store.ts";
import { leaveUnserved } from "./unserved.ts";

export interface RuntimesDeps {
  readonly store: Store;
  readonly states: StateCache;
  readonly now: () => number;
  readonly ids: Ids;
  /** The runtimes that this process has, by the name that an agent has for them. */
  readonly runtimes: ReadonlyMap<AgentConfig["runtime"], Runtime>;
  /** Told about what should never happen. */
  readonly report: (error: unknown) => void;
}

/** Hands each session to the runtime that its agent names; one that this process does not have is for another process. */
export function createRuntimes({ store, states, now, ids, runtimes, report }: RuntimesDeps): Runtime {
  return {
    opening: (state, lease) => runtimes.get(state.agent?.runtime ?? "loop")?.opening?.(state, lease) ?? [],
    async drive(claimed, signal) {
      const { lease, lastSequence } = claimed;
      try {
        const state = await states.take(lease.sessionId, lastSequence);
        states.put(state);
        const runtime = runtimes.get(state.agent?.runtime ?? "loop");
        if (runtime) return await runtime.drive(claimed, signal);
        const missing = `No server runs sessions of the runtime "${state.agent?.runtime ?? ""}". Start one that does.`;
        await leaveUnserved({ store, ids, now }, { lease, state, missing });
      } catch (error) {
        // The lease is left to run out.
        if (!isKnownError(error, "lease_lost", "not_found", "closed", "store_unavailable")) report(error);
      }
    },
  };
}

/** What a runtime writes down at once for a session that begins with these events. */
export function openingOf(
  runtime: Runtime,
  lease: Lease,
  events: readonly NewEvent[],
  now: number,
): readonly NewEvent[] {
  if (!runtime.opening) return [];
  const createdAt = new Date(now).toISOString();
  const state = fold(emptyState(lease.sessionId), withPlaces(lease.sessionId, events, { first: 1, createdAt }));
  return runtime.opening(state, lease);
}
