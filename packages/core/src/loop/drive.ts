import { type Fact, type NewEvent, isKnownError } from "@skein/protocol";
import { type Batch, type DriverLog, createBatch, createDriverLog } from "../run/driver-log.ts";
import { type Claimed, LEASE_LOST, type Runtime } from "../ports/runtime.ts";
import { runResumed } from "../run/facts/index.ts";
import { leaveUnserved } from "../run/unserved.ts";
import type { RunState, SessionState } from "../log/state.ts";
import type { StateCache } from "../log/state-cache.ts";
import type { Lease, Store } from "../ports/store.ts";
import type { Tool } from "../ports/tool.ts";
import { decide, nextRun } from "./decide.ts";
import type { Decision, View } from "./decision.ts";
import { type PerformDeps, perform } from "./perform.ts";
import { abandonedCall, callKeyOf } from "./abandoned-call.ts";
import type { ArrivingAnswer } from "../run/arriving-answer.ts";
import { type RunningEffects, createRunningEffects } from "./running-effects.ts";

/** The code that an agent's data names: its tools, its check of answers, its memory. */
export interface AgentCode {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly validate: PerformDeps["validate"];
  readonly memory: PerformDeps["memory"];
}

export interface LoopDeps extends Omit<PerformDeps, "tools" | "validate" | "memory" | "arriving"> {
  readonly store: Store;
  readonly states: StateCache;
  /** The code behind the agent of a session; none if this process does not have it. */
  readonly codeOf: (state: SessionState) => AgentCode | undefined;
  /** What of a session's agent this process does not have, in a sentence, where `codeOf` has none. */
  readonly missingOf?: (state: SessionState) => string;
  /** Told about what should never happen. */
  readonly report: (error: unknown, sessionId: string) => void;
}

const MAX_VALIDATION_FAILURES = 3;
/** Long enough for most tools, and well within the time in which a process must end. */
const GRACE_MS = 5000;
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
      // A session that cannot be served here is for its driver to deal with.
      if (!code || problem !== undefined) return [];
      const batch = createBatch(state, deps);
      const simulated = deps.model.simulated === true;
      settle(batch, () => ({ ...viewOf(lease, code, startedIn(batch.events) ?? null), simulated }));
      return batch.events;
    },
  };
}

async function driveSession(
  claimed: Claimed,
  deps: LoopDeps,
  { signal, lastProblem }: { signal: AbortSignal; lastProblem: string | undefined },
): Promise<void> {
  const { lease, clock } = claimed;
  const state = await deps.states.take(lease.sessionId, claimed.lastSequence);
  // Who the agent is and what code it has is settled when the session is created.
  const { code, problem } = codeOf(state, deps);
  if (!code) {
    // Without its tools every call would fail: the session is left to a process that has them.
    deps.states.put(state);
    const missing = deps.missingOf?.(state) ?? `No server has the agent "${state.agent?.name ?? ""}".`;
    return leaveUnserved(deps, { lease, state, missing });
  }
  let startedHere = claimed.begins ? (state.run?.runId ?? null) : null;
  const log = createDriverLog({ lease, clock, state }, deps);
  let arrivingAnswer: ArrivingAnswer | undefined;
  const arriving = (answer: ArrivingAnswer): void => void (arrivingAnswer = answer);
  const running = createRunningEffects((effect, stop) =>
    perform(effect, log.state, { ...deps, ...code, arriving }, stop),
  );
  const stopListening = log.onNews(running.nudge);
  const grace = createGrace(signal, running.nudge, deps);

  /** What the next append does besides keeping what has happened. */
  function decideNext(batch: Batch): Decision {
    if (signal.aborted) {
      if (running.busy() && !grace.isOver()) return stopped(null);
      batch.add(...handedOver(batch, arrivingAnswer));
      return stopped({ dueAt: batch.now });
    }
    if (batch.now >= (claimed.yieldAt ?? Infinity) && !running.busy()) return stopped({ dueAt: batch.now });
    return settle(batch, () => {
      startedHere = startedIn(batch.events) ?? startedHere;
      return {
        ...viewOf(lease, code as AgentCode, startedHere, problem),
        simulated: deps.model.simulated === true,
        arrived: () => arrivingAnswer?.soFar(),
        ...(lastProblem !== undefined && { lastProblem }),
      };
    });
  }

  /** What happened and is not stored yet. It survives a conflict: an outcome is never refused. */
  let outcomes: readonly Fact[] | undefined = [];
  try {
    while (outcomes) {
      const happened: readonly Fact[] = outcomes;
      let decision = stopped(null);
      let mustStop = false;
      await log.write((batch) => {
        mustStop = signal.aborted;
        batch.add(...happened.filter((outcome) => isWanted(outcome, batch.state)));
        decision = decideNext(batch);
        return decision.sleep;
      });
      if (log.released || deps.now() > clock.validUntil) return;
      // What was just written down is begun even if the wish to stop came in between: an intent without its effect would
      // have to be told as unknown.
      if (!mustStop) running.match(decision.effects);
      outcomes = await nextOutcomes(running, log, signal);
    }
  } finally {
    grace.close();
    stopListening();
    running.abortAll();
  }
}

/** Waits until an effect has ended, or something came from outside; undefined when the session is no longer ours. */
async function nextOutcomes(
  running: RunningEffects,
  log: DriverLog,
  signal: AbortSignal,
): Promise<readonly Fact[] | undefined> {
  for (;;) {
    await running.changed();
    if (signal.reason === LEASE_LOST) return undefined;
    const facts = running.take();
    if (facts) return facts;
    if (log.isBehind) {
      await log.catchUp();
      return [];
    }
    if (signal.aborted) return [];
  }
}

/** After the wish to stop, what is going on may still end for a while; nothing new begins. */
function createGrace(signal: AbortSignal, nudge: () => void, { now, timers }: LoopDeps) {
  let until = Number.POSITIVE_INFINITY;
  const over = new AbortController();
  const begin = (): void => {
    until = now() + GRACE_MS;
    nudge();
    void timers.sleep(GRACE_MS, over.signal).then(nudge);
  };
  if (signal.aborted) begin();
  signal.addEventListener("abort", begin);
  return {
    isOver: () => now() >= until,
    close() {
      over.abort("over");
      signal.removeEventListener("abort", begin);
    },
  };
}

/**
 * Gives a session back after an error of our own. It counts against its run as a dead worker would, but at once: without
 * that the run would be tried for ever, or for minutes, and whoever waits for it with it.
 */
async function putDown({ lease, clock }: Claimed, deps: LoopDeps): Promise<void> {
  const state = await deps.states.load(lease.sessionId);
  await createDriverLog({ lease, clock, state }, deps).write((batch) => {
    const { run } = batch.state;
    const wait = Math.min(AGAIN_MS * 2 ** (run?.resumesWithoutProgress ?? 0), AGAIN_AT_MOST_MS);
    // A run that could not even begin begins here, so that there is something to count against.
    batch.add(...(run ? taken(run, lease.fence) : nextRun(batch.state).facts));
    return { dueAt: batch.now + wait };
  });
}

/** The model call that is given up with the session: what its stream has told is known only here. */
function handedOver({ state, now }: Batch, answer: ArrivingAnswer | undefined): readonly Fact[] {
  const { run } = state;
  const arrived = answer?.soFar();
  if (!run?.call || arrived?.callKey !== callKeyOf(run.call)) return [];
  return [abandonedCall(state, run, { now, arrived, reason: "handed_over" })];
}

function taken(run: RunState, fence: number): readonly Fact[] {
  return run.fence === fence ? [] : [runResumed(run, fence)];
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
function isWanted({ event_type }: Fact, { title }: SessionState): boolean {
  return event_type !== "title.generated" || title === null;
}

/** Asked to stop: what has happened is still written down, and nothing is begun. */
function stopped(sleep: Decision["sleep"]): Decision {
  return { facts: [], effects: [], sleep };
}

/** Lets decisions follow each other until something has to run, collecting what they write down. */
function settle(batch: Batch, view: () => View): Decision {
  for (let rounds = 0; rounds < 1000; rounds++) {
    const decision = decide(batch.state, batch.now, view());
    if (decision.facts.length === 0) return decision;
    batch.add(...decision.facts);
  }
  throw new Error(`Session ${batch.state.sessionId}: the decisions do not come to an end.`);
}

/** The run that a batch opens, if it opens one. */
function startedIn(batch: readonly NewEvent[]): string | undefined {
  const started = batch.findLast(({ event_type }) => event_type === "session.started");
  return started?.event_type === "session.started" ? started.data.run_id : undefined;
}
