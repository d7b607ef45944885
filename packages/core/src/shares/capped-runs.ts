import { statusOf, type SessionState } from "../log/state.ts";
import type { StateCache } from "../log/state-cache.ts";
import { LEASE_LOST, type Claimed, type Runtime } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";
import { isCancelled, nextPrompt } from "../run/rules.ts";
import type { Cap, RunOwner } from "./caps.ts";
import { createRunPlaces } from "./run-places.ts";

export interface CappedRunsDeps {
  readonly store: Store;
  readonly states: StateCache;
  readonly now: () => number;
  /** The operator's caps for a run. */
  readonly capsOf: (owner: RunOwner) => readonly Cap[];
  /** A session may go on: its turn has come. */
  readonly wake: (sessionId: string) => void;
}

/** Who stands first asks again after so long, others after longer: usually they are woken. */
const ASK_AGAIN_MS = 1000;
const ASK_AGAIN_AT_MOST_MS = 30_000;

/**
 * Drives a session only while its run has a place of each cap. A run that waits for people has none, and a run of a subagent is part of
 * the run that asked for it: it would otherwise wait for a place that its own caller has.
 */
export function capRuns(runtime: Runtime, { store, states, now, capsOf, wake }: CappedRunsDeps): Runtime {
  const places = createRunPlaces({ store, now });
  const ofSession = (state: SessionState): readonly Cap[] =>
    state.subagentOf ? [] : capsOf(ownerOf(state)).filter(({ runs }) => runs !== undefined);

  async function leave(sessionId: string, caps: readonly Cap[]): Promise<void> {
    for (const next of await places.leave(sessionId, caps)) wake(next);
  }

  /** Gives the places back unless the run goes on, here or with another worker. */
  async function settle({ lease, lastSequence }: Claimed, caps: readonly Cap[]): Promise<void> {
    const state = await states.take(lease.sessionId, lastSequence).catch(() => undefined);
    if (state) states.put(state);
    const goesOn = state?.run && statusOf(state) === "running";
    if (!goesOn) await leave(lease.sessionId, caps);
  }

  return {
    ...runtime,
    opening: (state, lease) => (ofSession(state).length > 0 ? [] : (runtime.opening?.(state, lease) ?? [])),
    async drive(claimed, signal) {
      const { lease, lastSequence } = claimed;
      const state = await states.take(lease.sessionId, lastSequence);
      states.put(state);
      const caps = ofSession(state);
      if (caps.length === 0) return runtime.drive(claimed, signal);
      const runId = runToDrive(state);
      if (runId === undefined) {
        await leave(lease.sessionId, caps);
        return runtime.drive(claimed, signal);
      }
      const { sequence: seen } = state;
      const standing = await places.enter(lease.sessionId, caps);
      if (standing) {
        const wait = Math.min(ASK_AGAIN_MS * standing.place, ASK_AGAIN_AT_MOST_MS);
        return store.release(lease, { seen, dueAt: now() + wait });
      }
      try {
        await runtime.drive({ ...claimed, onlyRun: runId }, signal);
      } finally {
        // Another worker has it now, and with it the places.
        if (signal.reason !== LEASE_LOST) await settle(claimed, caps);
      }
    },
  };
}

/** The run that needs a place now. What is only to be ended or has nothing to do needs none. */
function runToDrive(state: SessionState): string | undefined {
  const { run } = state;
  if (!run) return nextPrompt(state)?.run_id;
  return isCancelled(state, run) || statusOf(state) === "awaiting" ? undefined : run.runId;
}

/** Whom the run of a session belongs to: the one that is under way, or the next. */
export function ownerOf(state: SessionState): RunOwner {
  const prompt = state.run?.prompt ?? nextPrompt(state);
  return { tenant: state.tenant, keyName: prompt?.key_name ?? null, agentName: state.agent?.name ?? "" };
}
