import { statusOf, type SessionState } from "../log/state.ts";
import { LEASE_LOST, type Claimed, type Runtime } from "../ports/runtime.ts";
import type { DriverLogDeps } from "../run/driver-log.ts";
import { nextPrompt, runToDrive } from "../run/rules.ts";
import type { Cap, RunOwner } from "./caps.ts";
import { ownerOf } from "./run-owner.ts";
import { createRunPlaces } from "./run-places.ts";
import { spendCaps, spenderOf } from "./spend-gate.ts";
import type { SpendLedger } from "./spend-ledger.ts";
import { moneyForDrive } from "./spend-questions.ts";

export interface CappedRunsDeps extends DriverLogDeps {
  readonly ledger: SpendLedger;
  /** The operator's caps for a run. */
  readonly capsOf: (owner: RunOwner) => readonly Cap[];
  /** Wakes a session whose turn has come. */
  readonly wake: (sessionId: string) => void;
}

/**
 * How often the first session in the queue checks for a free place. Later sessions check less often. Most sessions are
 * woken before they check.
 */
const ASK_AGAIN_MS = 1000;
const ASK_AGAIN_AT_MOST_MS = 30_000;

/**
 * Runs a session while its run has a place under every cap on runs, and no cap on spending stops the run. A run that
 * waits for people needs no place. A run of a subagent needs no place, because its caller already has a place and waits
 * for the subagent.
 */
export function capRuns(runtime: Runtime, deps: CappedRunsDeps): Runtime {
  const { store, states, now, capsOf, wake, ledger } = deps;
  const places = createRunPlaces({ store, now });
  const ofSession = (state: SessionState): readonly Cap[] => capsOf(ownerOf(state));
  const runCaps = (state: SessionState): readonly Cap[] =>
    state.subagentOf ? [] : ofSession(state).filter(({ runs }) => runs !== undefined);

  async function leave(sessionId: string, caps: readonly Cap[]): Promise<void> {
    for (const next of await places.leave(sessionId, caps)) wake(next);
  }

  async function stateOf({ lease, lastSequence }: Claimed): Promise<SessionState> {
    const state = await states.take(lease.sessionId, lastSequence);
    states.put(state);
    return state;
  }

  /** Counts what was spent. Frees the places if the run has ended or waits for somebody. */
  async function settle(
    claimed: Claimed,
    { caps, spending }: Record<"caps" | "spending", readonly Cap[]>,
  ): Promise<void> {
    const state = await stateOf(claimed).catch(() => undefined);
    if (state && spending.length > 0) await ledger.settle(spenderOf(state), spending);
    const goesOn = state?.run && statusOf(state) === "running";
    if (!goesOn && caps.length > 0) await leave(claimed.lease.sessionId, caps);
  }

  async function drive(claimed: Claimed, signal: AbortSignal): Promise<void> {
    const { lease } = claimed;
    const state = await stateOf(claimed);
    const caps = runCaps(state);
    const spending = spendCaps(ofSession(state));
    const hasWork = state.run !== null || nextPrompt(state) !== undefined;
    const money =
      spending.length > 0 && hasWork ? await moneyForDrive(claimed, { state, caps: spending }, deps) : undefined;
    if (money?.kind === "waits") return leave(lease.sessionId, caps);
    // Checking the money may have appended facts, so the state is read again.
    const current = money ? await stateOf(claimed) : state;
    const { sequence: seen } = current;
    const runId = runToDrive(current);
    if (runId === undefined) await leave(lease.sessionId, caps);
    const standing = runId === undefined ? undefined : await places.enter(lease.sessionId, caps);
    if (standing) {
      const wait = Math.min(ASK_AGAIN_MS * standing.place, ASK_AGAIN_AT_MOST_MS);
      return store.release(lease, { seen, dueAt: now() + wait });
    }
    try {
      const only = runId !== undefined && { onlyRun: runId };
      await runtime.drive(
        { ...claimed, lastSequence: seen, ...only, ...(money?.refusal !== undefined && { refusal: money.refusal }) },
        signal,
      );
    } finally {
      // After a lost lease, another worker has the session and its places.
      if (signal.reason !== LEASE_LOST) await settle(claimed, { caps, spending });
    }
  }

  return {
    ...runtime,
    opening: async (state) => (ofSession(state).length > 0 ? [] : ((await runtime.opening?.(state)) ?? [])),
    async drive(claimed, signal) {
      const state = await stateOf(claimed);
      if (ofSession(state).length > 0) return drive(claimed, signal);
      // No cap applies to this run. The runtime stops after this run, because the next prompt's API key may have caps.
      const runId = runToDrive(state);
      await runtime.drive({ ...claimed, ...(runId !== undefined && { onlyRun: runId }) }, signal);
    },
  };
}
