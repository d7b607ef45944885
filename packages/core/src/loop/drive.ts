import { type Event, type Fact, type NewEvent, isKnownError } from "@skein/protocol";
import { fold } from "../fold.ts";
import { type Claimed, LEASE_LOST, type Runtime } from "../runtime.ts";
import type { RunState, SessionState } from "../state.ts";
import type { StateCache } from "../state-cache.ts";
import type { Lease, Store } from "../store.ts";
import type { Tool } from "../tool.ts";
import { decide, nextRun } from "./decide.ts";
import type { Decision, View } from "./decision.ts";
import { resumed } from "./facts.ts";
import { type PerformDeps, perform } from "./perform.ts";
import { createRunning } from "./running.ts";

/** The code that an agent's data names: its tools, its check of answers, its memory. */
export interface AgentCode {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly validate: PerformDeps["validate"];
  readonly memory: PerformDeps["memory"];
}

export interface LoopDeps extends Omit<PerformDeps, "tools" | "validate" | "memory"> {
  readonly store: Store;
  readonly states: StateCache;
  /** The code behind the agent of a session; none if this process does not have it. */
  readonly codeOf: (state: SessionState) => AgentCode | undefined;
  /** Told about what should never happen. */
  readonly report: (error: unknown, sessionId: string) => void;
}

const MAX_VALIDATION_FAILURES = 3;
/** How long a session is left alone by a process that cannot serve it. */
const ELSEWHERE_MS = 1000;
/** Long enough for most tools, and well within the time in which a process must end. */
const GRACE_MS = 5000;
/** A store that does not answer is asked again until the lease is over. */
const RETRY_MS = 50;
/** After an error of our own a run is taken up again so soon, each time after twice as long, and at last so late. */
const AGAIN_MS = 100;
const AGAIN_AT_MOST_MS = 60_000;

/** The loop as a runtime: fold, decide, perform, append; again. */
export function createLoop(deps: LoopDeps): Runtime {
  /** What went wrong here when a session was last driven, for whoever is told that its run is given up. */
  const problems = new Map<string, string>();
  return {
    async drive(claimed, signal) {
      const { sessionId } = claimed.lease;
      try {
        await driveSession(claimed, deps, { signal, lastProblem: problems.get(sessionId) });
        problems.delete(sessionId);
      } catch (error) {
        if (isKnownError(error, "lease_lost", "not_found", "closed")) return;
        deps.report(error, sessionId);
        // A store that is away is no fault of the run.
        if (isKnownError(error, "store_unavailable", "disk_full")) return;
        problems.set(sessionId, sentenceOf(error));
        // If not even that can be written, the lease is left to run out.
        await putDown(claimed, deps).catch(() => undefined);
      }
    },
    opening(state, lease) {
      const { code, problem } = codeOf(state, deps);
      const batch: NewEvent[] = [];
      // A session that cannot be served here is for its driver to deal with.
      if (code && problem === undefined)
        settle(state, batch, deps, () => viewOf(lease, code, startedIn(batch) ?? null));
      return batch;
    },
  };
}

async function driveSession(
  claimed: Claimed,
  deps: LoopDeps,
  { signal, lastProblem }: { signal: AbortSignal; lastProblem: string | undefined },
): Promise<void> {
  const { lease } = claimed;
  const { sessionId } = lease;
  let state = await deps.states.take(sessionId, claimed.lastSequence);
  let startedHere = claimed.begins ? (state.run?.runId ?? null) : null;
  // Who the agent is and what code it has is settled when the session is created.
  const { code, problem } = codeOf(state, deps);
  if (!code) {
    // Without its tools every call would fail: the session is left to a process that has them.
    deps.states.put(state);
    return deps.store.release(lease, { seen: state.sequence, dueAt: deps.now() + ELSEWHERE_MS });
  }
  const running = createRunning((effect, stop) =>
    perform(effect, state, { ...deps, ...code }, stop).catch((error) => crashed(error)),
  );
  const crashed = (error: unknown): readonly Fact[] => {
    running.abortAll();
    failure = error instanceof Error ? error : new Error(String(error));
    running.nudge();
    return [];
  };
  let failure: Error | undefined;
  let heard = state.sequence;
  const stopListening = deps.store.onNews((id, events) => {
    if (id !== sessionId) return;
    heard = Math.max(heard, events?.at(-1)?.sequence ?? Number.POSITIVE_INFINITY);
    running.nudge();
  });
  /** What is going on when it is asked to stop may end within this time; nothing new begins. */
  let graceUntil = Number.POSITIVE_INFINITY;
  const stopping = (): void => {
    graceUntil = deps.now() + GRACE_MS;
    running.nudge();
    void deps.timers.sleep(GRACE_MS, over.signal).then(running.nudge);
  };
  const over = new AbortController();
  if (signal.aborted) stopping();
  signal.addEventListener("abort", stopping);

  /** What happened and is not stored yet. It survives a conflict: an outcome is never refused. */
  let outcomes: NewEvent[] = [];
  try {
    for (;;) {
      const base = state.sequence;
      const batch: NewEvent[] = outcomes.filter((outcome) => isWanted(outcome, state));
      foldAhead(state, batch, deps.now());
      const mustStop = signal.aborted;
      const decision = mustStop
        ? stopped(running.busy() && deps.now() < graceUntil ? null : { dueAt: deps.now() })
        : settle(state, batch, deps, () => {
            startedHere = startedIn(batch) ?? startedHere;
            return { ...viewOf(lease, code, startedHere, problem), ...(lastProblem !== undefined && { lastProblem }) };
          });

      const stored = await store(batch, { base, decision, claimed, deps });
      if (stored === "moved") {
        state = await deps.states.load(sessionId);
        heard = state.sequence;
        continue;
      }
      outcomes = [];
      if (decision.sleep) {
        if (stored === "released") deps.states.put(state);
        return;
      }

      if (deps.now() > claimed.clock.validUntil) return;
      // What was just written down is begun even if the wish to stop came in between: an intent without its effect would
      // have to be told as unknown.
      if (!mustStop) running.match(decision.effects);
      for (;;) {
        await running.changed();
        if (failure !== undefined) throw failure;
        if (signal.reason === LEASE_LOST) return;
        const facts = running.take();
        if (facts) {
          outcomes = facts.map((fact) => ({ ...fact, id: deps.ids() }));
          break;
        }
        if (heard > state.sequence) {
          const news = await deps.store.read(sessionId, { after: state.sequence });
          heard = state.sequence + news.length;
          fold(state, news);
          break;
        }
        if (signal.aborted) break;
      }
    }
  } finally {
    over.abort("over");
    signal.removeEventListener("abort", stopping);
    stopListening();
    running.abortAll();
  }
}

/**
 * Gives a session back after an error of our own. It counts against its run as a dead worker would, but at once: without
 * that the run would be tried for ever, or for minutes, and whoever waits for it with it.
 */
async function putDown(claimed: Claimed, deps: LoopDeps): Promise<void> {
  const { sessionId, fence } = claimed.lease;
  for (;;) {
    const state = await deps.states.load(sessionId);
    const base = state.sequence;
    const batch: NewEvent[] = [];
    // A run that could not even begin begins here, so that there is something to count against.
    const facts = state.run ? taken(state.run, fence) : nextRun(state).facts;
    batch.push(...facts.map((fact): NewEvent => ({ ...fact, id: deps.ids() })));
    const wait = Math.min(AGAIN_MS * 2 ** (state.run?.resumesWithoutProgress ?? 0), AGAIN_AT_MOST_MS);
    const decision = stopped({ dueAt: deps.now() + wait });
    if ((await store(batch, { base, decision, claimed, deps })) !== "moved") return;
  }
}

function taken(run: RunState, fence: number): readonly Fact[] {
  return run.fence === fence ? [] : [resumed(run, fence)];
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** An agent whose code cannot be put together, for example because of a tool's schema, fails its runs and says why. */
function codeOf(state: SessionState, deps: LoopDeps): { code: AgentCode | undefined; problem?: string } {
  try {
    return { code: deps.codeOf(state) };
  } catch (error) {
    deps.report(error, state.sessionId);
    const problem = sentenceOf(error);
    return { code: { tools: new Map(), validate: undefined, memory: undefined }, problem };
  }
}

function viewOf({ fence }: Lease, code: AgentCode, startedHere: string | null, problem?: string): View {
  // Tools of one server share a list.
  const sources = new Set([...code.tools.values()].flatMap(({ notices }) => (notices ? [notices] : [])));
  return {
    fence,
    startedHere,
    tools: code.tools,
    notices: [...sources].flat(),
    validates: code.validate !== undefined,
    maxValidationFailures: MAX_VALIDATION_FAILURES,
    remembers: code.memory !== undefined,
    ...(problem !== undefined && { problem }),
  };
}

/** A title that somebody gave meanwhile is not written over. */
function isWanted({ event_type }: NewEvent, { title }: SessionState): boolean {
  return event_type !== "title.generated" || title === null;
}

/** Asked to stop: what has happened is still written down, and nothing is begun. */
function stopped(sleep: Decision["sleep"]): Decision {
  return { facts: [], effects: [], sleep };
}

/** Lets decisions follow each other until something has to run, collecting what they write down. */
function settle(state: SessionState, batch: NewEvent[], deps: LoopDeps, view: () => View): Decision {
  for (let rounds = 0; rounds < 1000; rounds++) {
    const decision = decide(state, deps.now(), view());
    if (decision.facts.length === 0) return decision;
    const events = decision.facts.map((fact): NewEvent => ({ ...fact, id: deps.ids() }));
    foldAhead(state, events, deps.now());
    batch.push(...events);
  }
  throw new Error(`Session ${state.sessionId}: the decisions do not come to an end.`);
}

/** The run that a batch opens, if it opens one. */
function startedIn(batch: readonly NewEvent[]): string | undefined {
  const started = batch.findLast(({ event_type }) => event_type === "session.started");
  return started?.event_type === "session.started" ? started.data.run_id : undefined;
}

/** Folds events that are about to be stored. If they are refused, the state is read anew. */
function foldAhead(state: SessionState, events: readonly NewEvent[], now: number): void {
  const created_at = new Date(now).toISOString();
  const first = state.sequence + 1;
  fold(
    state,
    events.map((event, index): Event => ({
      ...event,
      session_id: state.sessionId,
      sequence: first + index,
      created_at,
    })),
  );
}

/** Writes a batch, and gives the lease back with it if nothing is left to do. */
async function store(
  batch: readonly NewEvent[],
  { base, decision, claimed, deps }: { base: number; decision: Decision; claimed: Claimed; deps: LoopDeps },
): Promise<"stored" | "released" | "moved"> {
  const { lease, clock } = claimed;
  // Without a word to the store nothing is known about the lease.
  if (batch.length === 0 && !decision.sleep) return "stored";
  for (;;) {
    const asked = deps.now();
    try {
      if (batch.length > 0)
        await deps.store.append(lease.sessionId, batch, {
          lease,
          expect: base,
          ...(decision.sleep && { release: decision.sleep }),
        });
      else if (decision.sleep) await deps.store.release(lease, { seen: base, dueAt: decision.sleep.dueAt });
      clock.validUntil = Math.max(clock.validUntil, asked + lease.leaseMs);
      return decision.sleep ? "released" : "stored";
    } catch (error) {
      if (isKnownError(error, "conflict")) return "moved";
      const again = isKnownError(error, "store_unavailable", "disk_full") && deps.now() < clock.validUntil;
      if (!again) throw error;
      // The same ids again: if the answer was lost and not the commit, the store says so.
      await deps.timers.sleep(RETRY_MS, new AbortController().signal);
    }
  }
}
