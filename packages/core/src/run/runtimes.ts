import type { AgentConfig, Ids } from "@skein/protocol";
import type { StateCache } from "../log/state-cache.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";
import type { Parking } from "./parking.ts";
import { leaveUnserved } from "./unserved.ts";

export interface RuntimesDeps {
  readonly store: Store;
  readonly states: StateCache;
  readonly now: () => number;
  readonly ids: Ids;
  /** The runtimes that this process has, by the name that agents use for them. */
  readonly runtimes: ReadonlyMap<AgentConfig["runtime"], Runtime>;
  /** Parks sessions that fail repeatedly. */
  readonly parking: Parking;
  /** Lets a run begin only within the operator's caps. */
  readonly capped?: ((runtime: Runtime) => Runtime) | undefined;
  /** Delays a session with large messages until the process has enough memory for them. */
  readonly bounded?: ((runtime: Runtime) => Runtime) | undefined;
}

/**
 * Runs each session with the runtime of its agent. A session whose runtime this process lacks is left to other
 * processes.
 */
export function createRuntimes(deps: RuntimesDeps): Runtime {
  const { store, states, now, ids, runtimes, parking, capped = asItIs, bounded = asItIs } = deps;
  const byAgent: Runtime = {
    opening: async (state) => (await runtimes.get(state.agent?.runtime ?? "loop")?.opening?.(state)) ?? [],
    async drive(claimed, signal) {
      const { lease, lastSequence } = claimed;
      const state = await states.take(lease.sessionId, lastSequence);
      states.put(state);
      const runtime = runtimes.get(state.agent?.runtime ?? "loop");
      if (runtime) return runtime.drive(claimed, signal);
      const missing = `The server that tried to run this session does not have the runtime "${state.agent?.runtime ?? ""}". Start a server with this runtime.`;
      await leaveUnserved({ store, ids, now }, { lease, state, missing });
    },
  };
  return parking.guard(bounded(capped(byAgent)));
}

function asItIs(runtime: Runtime): Runtime {
  return runtime;
}
