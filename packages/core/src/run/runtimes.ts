import type { AgentConfig, Ids, NewEvent } from "@skein/protocol";
import { withPlaces } from "../log/append-rules.ts";
import { fold } from "../log/fold.ts";
import { emptyState } from "../log/state.ts";
import type { StateCache } from "../log/state-cache.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Lease, Store } from "../ports/store.ts";
import type { Parking } from "./parking.ts";
import { leaveUnserved } from "./unserved.ts";

export interface RuntimesDeps {
  readonly store: Store;
  readonly states: StateCache;
  readonly now: () => number;
  readonly ids: Ids;
  /** The runtimes that this process has, by the name that agents use for them. */
  readonly runtimes: ReadonlyMap<AgentConfig["runtime"], Runtime>;
  /** Parks sessions that fail whatever drives them. */
  readonly parking: Parking;
  /** Lets a run begin only within the operator's caps. */
  readonly capped?: ((runtime: Runtime) => Runtime) | undefined;
  /** Lets a session with large messages be driven only while there is room for it. */
  readonly bounded?: ((runtime: Runtime) => Runtime) | undefined;
}

/** Drives each session with the runtime of its agent. A session whose runtime this process lacks is left to other processes. */
export function createRuntimes(deps: RuntimesDeps): Runtime {
  const { store, states, now, ids, runtimes, parking, capped = asItIs, bounded = asItIs } = deps;
  const byAgent: Runtime = {
    opening: (state, lease) => runtimes.get(state.agent?.runtime ?? "loop")?.opening?.(state, lease) ?? [],
    async drive(claimed, signal) {
      const { lease, lastSequence } = claimed;
      const state = await states.take(lease.sessionId, lastSequence);
      states.put(state);
      const runtime = runtimes.get(state.agent?.runtime ?? "loop");
      if (runtime) return runtime.drive(claimed, signal);
      const missing = `No server runs sessions of the runtime "${state.agent?.runtime ?? ""}". Start one that does.`;
      await leaveUnserved({ store, ids, now }, { lease, state, missing });
    },
  };
  return parking.guard(bounded(capped(byAgent)));
}

function asItIs(runtime: Runtime): Runtime {
  return runtime;
}

/** The facts that a runtime adds to the first append of a session. */
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
