import { type Fact, type NewEvent, isKnownError } from "@skein/protocol";
import { fold, restore, snapshotOf } from "../../log/fold.ts";
import { type RunState, type SessionState, contextOf, emptyState } from "../../log/state.ts";
import type { Claimed, Runtime } from "../../ports/runtime.ts";
import type { ModelReply, SimulatedRuntimeDeps } from "./simulated-runtime.ts";
import type { Mutant } from "./mutants.ts";
import {
  type Ending,
  abandoned,
  endFacts,
  generated,
  promptEnters,
  resultsEnter,
  startFacts,
  stepStarted,
  toolCompleted,
  toolStarted,
} from "./scripted-facts.ts";

const MAX_STEPS = 4;
const MAX_ATTEMPTS = 3;
const POISONED_AFTER = 5;

/**
 * Thrown to end a drive if the store stays unavailable or the lease may have ended. Another worker continues. This is
 * not an error.
 */
class LeftAlone extends Error {}

/** A small runtime that keeps every rule of the log. With a mutant, the runtime breaks one of the rules. */
export function createScriptedRuntime(deps: SimulatedRuntimeDeps, mutant: Mutant | null = null): Runtime {
  return {
    async drive(claimed, stop) {
      try {
        await createDrive(deps, claimed, mutant)(stop);
      } catch (error) {
        const expected =
          error instanceof LeftAlone || isKnownError(error, "lease_lost", "not_found", "store_unavailable");
        if (!expected) deps.report(error);
      }
    },
  };
}

function createDrive(deps: SimulatedRuntimeDeps, { lease, clock }: Claimed, mutant: Mutant | null) {
  const { store, now, sleep, ids, model, tools, random } = deps;
  const { sessionId, fence } = lease;
  let state: SessionState = emptyState(sessionId);
  let released = false;
  let resumedHere = false;

  /** Retries while the store is unavailable and the lease is certainly valid. */
  async function patiently<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      try {
        return await ask();
      } catch (error) {
        if (!isKnownError(error, "store_unavailable")) throw error;
        if (tries === 8 || now() > clock.validUntil) throw new LeftAlone();
        await sleep(20 * tries);
      }
    }
  }

  async function load(): Promise<void> {
    const snapshot = await patiently(() => store.readSnapshot(sessionId));
    state = (snapshot && restore(snapshot)) ?? emptyState(sessionId);
    await catchUp();
  }

  async function catchUp(): Promise<void> {
    fold(state, await patiently(() => store.read(sessionId, { after: state.sequence })));
  }

  /**
   * Writes facts, and repeats a failed write with the same ids. Returns false if the log has new events, because the
   * caller must then decide again. The facts are appended with `expect` only if `intent` is set.
   */
  async function write(facts: readonly Fact[], { intent, release }: { intent: boolean; release?: boolean }) {
    const events = facts.map((fact): NewEvent => ({ ...fact, id: ids() }));
    const expect = intent && !(mutant === "intent-without-expect" && !release) ? { expect: state.sequence } : {};
    let tries = 0;
    try {
      const { events: stored } = await patiently(async () => {
        const sentAt = now();
        const appended = await (mutant === "duplicate-terminal" && facts.some(isTerminal) && (tries += 1) > 1
          ? store.append(
              sessionId,
              facts.filter(isTerminal).map((fact): NewEvent => ({ ...fact, id: ids() })),
              { lease },
            )
          : store.append(sessionId, events, { lease, ...expect, ...(release && { release: { dueAt: null } }) }));
        clock.validUntil = Math.max(clock.validUntil, sentAt + lease.leaseMs);
        return appended;
      });
      if (release) {
        released = true;
        fold(state, stored);
      } else if (stored[0]?.sequence === state.sequence + 1) fold(state, stored);
      else await catchUp();
      return true;
    } catch (error) {
      if (!isKnownError(error, "conflict")) throw error;
      await catchUp();
      return false;
    }
  }

  /** Takes over a run that another worker began. Returns false if the log has new events. */
  async function resume(run: RunState): Promise<boolean> {
    resumedHere = true;
    if (!(await write([{ event_type: "run.resumed", data: { run_id: run.runId, fence } }], { intent: true })))
      return false;
    if (mutant === "usage-on-resume" && state.run && !state.run.call && state.run.step > 0)
      await write([abandoned(state.run)], { intent: false });
    return true;
  }

  /** Makes one decision and carries it out. Returns false if nothing is left to do under this lease. */
  async function step(): Promise<boolean> {
    const { run } = state;
    if (!run) return startNext();
    if (run.resumesWithoutProgress >= POISONED_AFTER && mutant !== "no-poison")
      return end(run, { outcome: "failed", why: "poisoned" });
    const interrupted = state.queue.some(({ mode }) => mode === "interrupt");
    if (interrupted && mutant === "two-runs") return startNext();
    if ((run.cancelRequested || interrupted) && !(mutant === "cancel-ignored" && resumedHere))
      return end(run, { outcome: "cancelled" });
    // An open call was begun by a dead worker, because this worker ends every call before the next decision.
    if (run.call) return write([abandoned(run)], { intent: false }).then(() => true);
    if (mutant === "no-orphan-repair" && resumedHere && run.calls.some(({ phase }) => phase === "started"))
      return askModel(run, []);
    if (run.calls.some(({ phase }) => phase !== "done")) return runTools(run);
    if (run.resultsMessageId !== null) return askModel(run, [resultsEnter(run, state.transcript.length)]);
    if (run.retryAt !== null && Date.parse(run.retryAt) > now()) return waitFor(Date.parse(run.retryAt));
    const steered = state.queue.some(({ mode }) => mode === "steer");
    const answered = state.transcript.at(-1)?.role === "assistant";
    if (answered && !(steered && run.step < MAX_STEPS)) return end(run, { outcome: "completed" });
    return askModel(run, []);
  }

  async function startNext(): Promise<boolean> {
    const prompt = state.queue.find(({ mode }) => mode === "interrupt") ?? state.queue[0];
    if (!prompt) return giveBack(null);
    const facts = [...startFacts(prompt, state), stepStarted(prompt.run_id, 1, 1)];
    if (await write(facts, { intent: true })) await answer();
    return true;
  }

  async function end(run: RunState, ending: Ending): Promise<boolean> {
    // Both ways to release the session are used: together with the last fact, and in a separate release.
    const last = state.queue.length === 0 && random() < 0.5;
    const done = await write(endFacts(state, run, ending), { intent: true, release: last });
    if (done && random() < 0.3) await patiently(() => store.writeSnapshot(sessionId, snapshotOf(state)));
    return !(done && last);
  }

  /** Begins the next step. Steering prompts in the queue enter the transcript before it. */
  async function askModel(run: RunState, facts: readonly Fact[]): Promise<boolean> {
    const number = run.attempts > 0 ? run.step : run.step + 1;
    const steers = state.queue.filter(({ mode }) => mode === "steer");
    const before = state.transcript.length + facts.length;
    const entering = steers.map((prompt, index) =>
      promptEnters(prompt, { runId: run.runId, step: run.step, before: before + index }),
    );
    const started = stepStarted(run.runId, number, run.attempts + 1);
    if (await write([...facts, ...entering, started], { intent: true })) await answer();
    return true;
  }

  /** Sends the model request of the step that this drive has just started. */
  async function answer(): Promise<void> {
    const { run } = state;
    if (!run?.call) return;
    checkDeadline();
    const { runId, step } = run;
    const messages = [...contextOf(state)];
    const reply = await model({ sessionId, runId, step, messages, mayUseTools: step < MAX_STEPS });
    if ("failed" in reply) return failed(run, reply.failed);
    await said(run, reply);
  }

  async function failed(run: RunState, message: string): Promise<void> {
    const { runId, step } = run;
    const error = { code: "overloaded", message };
    const attempt = run.attempts + 1;
    if (attempt < MAX_ATTEMPTS) {
      const data = { run_id: runId, step, attempt, error, delay_ms: 200 * 5 ** attempt };
      await write([{ event_type: "step.retried", data }], { intent: false });
      return;
    }
    const failure: Fact = { event_type: "step.error", data: { run_id: runId, step, error, duration_ms: 0 } };
    const facts = endFacts(state, run, { outcome: "failed", why: "error" }, [failure]);
    if (!(await write(facts, { intent: true }))) await write([failure], { intent: false });
  }

  /**
   * Writes the answer of the model. If it is the last answer and the log has no new events, the same append ends the
   * run.
   */
  async function said(run: RunState, reply: ModelReply): Promise<void> {
    const before = state.transcript.length;
    const facts = generated(run, reply, { message: ids(), results: ids(), before });
    if (reply.stopReason === "end_turn" && state.queue.length === 0 && !run.cancelRequested && random() < 0.5) {
      const ending = endFacts(state, run, { outcome: "completed" }, facts);
      if (await write(ending, { intent: true, release: true })) return;
    }
    await write(facts, { intent: false });
  }

  async function runTools(run: RunState): Promise<boolean> {
    const lost = run.calls.find((call) => call.phase === "started" && call.policy === "once");
    if (lost && mutant !== "once-runs-again") {
      const content = "The worker died while this ran. Whether it took effect is not known.";
      await write([toolCompleted(run, lost, { outcome: "unknown", content })], { intent: false });
      return true;
    }
    const wanted = run.calls.filter(({ phase }) => phase !== "done");
    const now = random() < 0.5 ? wanted : wanted.slice(0, 1);
    if (mutant === "effect-before-intent") for (const call of now) await effect(call.toolUseId, call.name);
    const intents = now.map((call) => toolStarted(run, call, tools.policyOf(call.name)));
    if (!(await write(intents, { intent: true }))) return true;
    for (const { toolUseId, name } of now) {
      const content = mutant === "effect-before-intent" ? "done" : await effect(toolUseId, name);
      const call = state.run?.calls.find((open) => open.toolUseId === toolUseId);
      if (!state.run || !call) return true;
      await write([toolCompleted(state.run, call, { outcome: "committed", content })], { intent: false });
    }
    return true;
  }

  async function effect(toolUseId: string, name: string): Promise<string> {
    checkDeadline();
    return tools.run({ sessionId, toolUseId, name });
  }

  function checkDeadline(): void {
    if (now() >= clock.validUntil) throw new LeftAlone();
  }

  /** Waits under the lease if the wait is short. For a long wait, releases the session. */
  async function waitFor(time: number): Promise<boolean> {
    if (time - now() > 2000) return giveBack(time);
    await sleep(time - now());
    await catchUp();
    return true;
  }

  async function giveBack(dueAt: number | null): Promise<boolean> {
    await patiently(() => store.release(lease, { seen: state.sequence, dueAt }));
    released = true;
    return false;
  }

  return async (stop: AbortSignal): Promise<void> => {
    await load();
    while (state.run && !(await resume(state.run)));
    while (!released && (await step())) {
      if (!stop.aborted || released) continue;
      await giveBack(now());
      return;
    }
  };
}

function isTerminal({ event_type }: Fact): boolean {
  return event_type === "session.completed" || event_type === "session.failed";
}
