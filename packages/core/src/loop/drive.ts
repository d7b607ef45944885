import { type Fact, type NewEvent, isKnownError } from "@skein/protocol";
import { type Batch, type DriverLog, type Ear, createBatch, createDriverLog, createEar } from "../run/driver-log.ts";
import { type Claimed, LEASE_LOST, type Runtime } from "../ports/runtime.ts";
import { runResumed } from "../run/facts/index.ts";
import { leaveUnserved } from "../run/unserved.ts";
import type { RunState, SessionState } from "../log/state.ts";
import type { StateCache } from "../log/state-cache.ts";
import type { Lease, Store } from "../ports/store.ts";
import type { Tool } from "../ports/tool.ts";
import { decide, nextRun } from "./decide.ts";
import type { Spending } from "../shares/spend-gate.ts";
import type { Checks, Decision, View } from "./decision.ts";
import { type PerformDeps, perform } from "./perform.ts";
import { abandonedCall, callKeyOf } from "./abandoned-call.ts";
import { modelOf } from "./request.ts";
import type { ArrivingAnswer } from "../run/arriving-answer.ts";
import { type RunningEffects, createRunningEffects } from "./running-effects.ts";

/** The code that an agent needs besides its settings. */
export interface AgentCode {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly validate: PerformDeps["validate"];
  readonly memory: PerformDeps["memory"];
  readonly hooks?: PerformDeps["hooks"];
}

export interface LoopDeps extends Omit<
  PerformDeps,
  "tools" | "validate" | "memory" | "hooks" | "checks" | "arriving" | "paid"
> {
  readonly store: Store;
  readonly states: StateCache;
  /** Returns the code of a session's agent; undefined if this process does not have the code. */
  readonly codeOf: (state: SessionState) => AgentCode | undefined;
  /** Says what this process lacks for a session's agent. Called if `codeOf` returns undefined. */
  readonly missingOf?: (state: SessionState) => string;
  /**
   * Whether sessions are left to other processes if this process cannot use their models. If false, their runs fail.
   */
  readonly leavesUnusable?: boolean | undefined;
  /** Receives unexpected errors. */
  readonly report: (error: unknown, sessionId: string) => void;
}

const MAX_VALIDATION_FAILURES = 3;
/** The fence (lease number) of a run that no worker has taken over. */
const UNFENCED = { fence: 0 };
/**
 * How long effects may continue after a request to stop. This is enough for most tools, and less than the time that a
 * process gets to end.
 */
const GRACE_MS = 5000;
/** The first delay after an unexpected error. The delay doubles each time, up to AGAIN_AT_MOST_MS. */
const AGAIN_MS = 100;
const AGAIN_AT_MOST_MS = 60_000;

/** Creates the runtime of the loop. It repeats four steps: fold, decide, perform, append. */
export function createLoop(deps: LoopDeps): Runtime {
  /**
   * The last unexpected error of each session. A run that is ended because it crashes every worker (a poisoned run) has
   * this error in its message.
   */
  const problems = new Map<string, string>();
  return {
    async drive(claimed, signal) {
      const { sessionId } = claimed.lease;
      // The listener starts before the first read. If it started later, it could miss a cancel.
      const ear = createEar(deps.store, sessionId);
      try {
        await driveSession(claimed, deps, { signal, ear, lastProblem: problems.get(sessionId) });
        problems.delete(sessionId);
      } catch (error) {
        if (isKnownError(error, "lease_lost", "not_found", "closed")) return;
        deps.report(error, sessionId);
        // An unavailable store is not the fault of the run.
        if (isKnownError(error, "store_unavailable", "disk_full")) return;
        problems.set(sessionId, sentenceOf(error));
        // If the session cannot be released now, its lease expires later.
        await putDown(claimed, deps).catch(() => undefined);
      } finally {
        ear.stop();
      }
    },
    async opening(state) {
      await deps.models.refresh(state.tenant);
      const { code, problem } = codeOf(state, deps);
      // `drive` handles sessions that cannot run in this process.
      if (!code || problem !== undefined || (deps.leavesUnusable && unusableModel(state, deps) !== undefined))
        return [];
      const batch = createBatch(state, deps);
      settle(batch, () =>
        viewOf(UNFENCED, code, { startedHere: startedIn(batch.events) ?? null, model: modelIn(batch, deps) }),
      );
      return batch.events;
    },
  };
}

async function driveSession(
  claimed: Claimed,
  deps: LoopDeps,
  { signal, ear, lastProblem }: { signal: AbortSignal; ear: Ear; lastProblem: string | undefined },
): Promise<void> {
  const { lease, clock } = claimed;
  const state = await deps.states.take(lease.sessionId, claimed.lastSequence);
  await deps.models.refresh(state.tenant);
  const { code, problem } = codeOf(state, deps);
  if (!code) {
    // Without the agent's tools every call would fail. So this process leaves the session to a process with the
    // tools.
    deps.states.put(state);
    const missing =
      deps.missingOf?.(state) ??
      `The server that tried to run this session does not have the agent "${state.agent?.name ?? ""}".`;
    return leaveUnserved(deps, { lease, state, missing });
  }
  const unusable = deps.leavesUnusable ? unusableModel(state, deps) : undefined;
  if (unusable !== undefined) {
    deps.states.put(state);
    return leaveUnserved(deps, { lease, state, missing: unusable });
  }
  let startedHere = claimed.begins ? (state.run?.runId ?? null) : null;
  const log = createDriverLog({ lease, clock, state, heard: ear.heard() }, deps);
  let arrivingAnswer: ArrivingAnswer | undefined;
  const arriving = (answer: ArrivingAnswer): void => void (arrivingAnswer = answer);
  /** The results of reservations, by effect key. */
  const paid = new Map<string, Spending>();
  const checks: Checks = { seen: new Set(), approvals: new Map() };
  const parts = {
    ...deps,
    ...code,
    arriving,
    checks,
    paid: (key: string, answer: Spending) => void paid.set(key, answer),
  };
  const running = createRunningEffects((effect, stop) => perform(effect, log.state, parts, stop));
  const stopListening = log.onNews(running.nudge);
  ear.stop();
  const grace = createGrace(signal, running.nudge, deps);

  /** Decides which facts the next append has besides the outcomes of effects. */
  function decideNext(batch: Batch): Decision {
    if (signal.aborted) {
      if (running.busy() && !grace.isOver()) return stopped(null);
      batch.add(...handedOver(batch, deps, arrivingAnswer));
      return stopped({ dueAt: batch.now });
    }
    if (batch.now >= (claimed.yieldAt ?? Infinity) && !running.busy()) return stopped({ dueAt: batch.now });
    return settle(batch, () => {
      startedHere = startedIn(batch.events) ?? startedHere;
      return {
        ...viewOf(lease, code as AgentCode, { startedHere, problem, model: modelIn(batch, deps) }),
        checks,
        arrived: () => arrivingAnswer?.soFar(),
        onlyRun: claimed.onlyRun,
        refusal: claimed.refusal,
        ...(deps.spend?.applies(batch.state) && {
          spending: (key: string) => paid.get(`${batch.state.run?.runId}/${key}`),
        }),
        ...(lastProblem !== undefined && { lastProblem }),
      };
    });
  }

  /** The facts of finished effects. They stay here until an append succeeds. */
  let outcomes: readonly Fact[] | undefined = [];
  try {
    if (log.isBehind) await log.catchUp();
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
      // If the intent of an effect is stored, the effect is started even after a request to stop. Otherwise its outcome
      // would be unknown.
      if (!mustStop) running.match(decision.effects);
      outcomes = await nextOutcomes(running, log, signal);
    }
  } finally {
    grace.close();
    stopListening();
    running.abortAll();
  }
}

/** Waits until an effect has ended or an event has arrived. Returns undefined if the lease is lost. */
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

/** Creates a grace period after a request to stop: effects may finish, but nothing new begins. */
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
 * Releases a session after an unexpected error. The error counts like a dead worker. So a run that always fails ends
 * after seconds.
 */
async function putDown({ lease, clock }: Claimed, deps: LoopDeps): Promise<void> {
  const state = await deps.states.load(lease.sessionId);
  await createDriverLog({ lease, clock, state }, deps).write((batch) => {
    const { run } = batch.state;
    const wait = Math.min(AGAIN_MS * 2 ** (run?.resumesWithoutProgress ?? 0), AGAIN_AT_MOST_MS);
    // A run that failed before its start is started here, so that its failures are counted.
    batch.add(...(run ? taken(run, lease.fence) : nextRun(batch.state).facts));
    return { dueAt: batch.now + wait };
  });
}

/**
 * Abandons the open model call before the session is released, because only this process knows what the stream has
 * reported.
 */
function handedOver({ state, now }: Batch, { models }: LoopDeps, answer: ArrivingAnswer | undefined): readonly Fact[] {
  const { run } = state;
  const arrived = answer?.soFar();
  if (!run?.call || arrived?.callKey !== callKeyOf(run.call)) return [];
  const { price } = models.named(state.tenant, run.call.model);
  return [abandonedCall(state, run, { now, arrived, price, reason: "handed_over" })];
}

function taken(run: RunState, fence: number): readonly Fact[] {
  return run.fence === fence ? [] : [runResumed(run, fence)];
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Returns the code of an agent. If the code cannot be built, for example because of a tool's schema, runs fail with
 * `problem`.
 */
function codeOf(state: SessionState, deps: LoopDeps): { code: AgentCode | undefined; problem?: string } {
  try {
    return { code: deps.codeOf(state) };
  } catch (error) {
    deps.report(error, state.sessionId);
    const problem = sentenceOf(error);
    return { code: { tools: new Map(), validate: undefined, memory: undefined }, problem };
  }
}

/** Says why this process can use none of the session's models. Returns undefined if it can use a model. */
function unusableModel(state: SessionState, { models }: LoopDeps): string | undefined {
  const names = [modelOf(state), ...(state.agent?.fallback_models ?? [])];
  const problems = names.map((name) => models.named(state.tenant, name).unusable);
  return problems.includes(undefined) ? undefined : problems[0];
}

function modelIn({ state }: Batch, { models }: LoopDeps): View["model"] {
  return models.named(state.tenant, modelOf(state));
}

function viewOf(
  { fence }: Pick<Lease, "fence">,
  code: AgentCode,
  { startedHere, model, problem }: Pick<View, "startedHere" | "model"> & { readonly problem?: string | undefined },
): View {
  // The tools of a server share a list of notices, so each list is taken only once.
  const sources = new Set([...code.tools.values()].flatMap(({ notices }) => (notices ? [notices] : [])));
  return {
    fence,
    startedHere,
    model,
    tools: code.tools,
    hooks: code.hooks,
    notices: [...sources].flat(),
    validates: code.validate !== undefined,
    maxValidationFailures: MAX_VALIDATION_FAILURES,
    remembers: code.memory !== undefined,
    ...(problem !== undefined && { problem }),
  };
}

/** Returns false for a generated title if the session already has a title. */
function isWanted({ event_type }: Fact, { title }: SessionState): boolean {
  return event_type !== "title.generated" || title === null;
}

/** Decides that nothing begins after a request to stop. The outcomes are still stored. */
function stopped(sleep: Decision["sleep"]): Decision {
  return { facts: [], effects: [], sleep };
}

/** Collects facts until effects have to run or the session sleeps. */
function settle(batch: Batch, view: () => View): Decision {
  for (let rounds = 0; rounds < 1000; rounds++) {
    const decision = decide(batch.state, batch.now, view());
    if (decision.facts.length === 0) return decision;
    batch.add(...decision.facts);
  }
  throw new Error(`Session ${batch.state.sessionId}: the decisions do not end. This is a bug.`);
}

/** The run that a batch starts, if any. */
function startedIn(batch: readonly NewEvent[]): string | undefined {
  const started = batch.findLast(({ event_type }) => event_type === "session.started");
  return started?.event_type === "session.started" ? started.data.run_id : undefined;
}
