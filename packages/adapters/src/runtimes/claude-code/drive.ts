import {
  type Claimed,
  LEASE_LOST,
  type QueuedPrompt,
  type SessionState,
  createDriverLog,
  createEar,
  isCancelled,
  messageEntered,
  nextPrompt,
  runStarted,
  runToDrive,
  snapshotOf,
} from "@skein/core";
import { createAnswers } from "./answers.ts";
import { budgetEnd, budgetOf, refusedEnd } from "./budget.ts";
import { userMessage } from "./inbox.ts";
import { rewind } from "./rewind.ts";
import { failRun } from "./end-run.ts";
import {
  type Drive,
  type DriveDeps,
  type SessionChild,
  cannotStart,
  childFor,
  modelOfRun,
  prepareNext,
  turn,
} from "./session-child.ts";
import { resumeRun } from "./resume-run.ts";
import { createSessionModels } from "./session-models.ts";
import type { TurnEnd } from "./turn.ts";

/** Works on the session until it has nothing left to do or `signal` aborts, and then releases the lease. */
export async function driveSession(claimed: Claimed, signal: AbortSignal, deps: DriveDeps): Promise<void> {
  const { sessionId } = claimed.lease;
  const lease = claimed.prolong(deps.leaseMs);
  // This process listens for new events before it reads the log, because a cancel may arrive while it reads.
  const ear = createEar(deps.store, sessionId);
  const state = await deps.states.take(sessionId, claimed.lastSequence).finally(ear.stop);
  const answers = createAnswers(state);
  const log = createDriverLog(
    { lease, clock: claimed.clock, state, heard: ear.heard(), takenIn: answers.takeIn },
    deps,
  );
  const stopListening = log.onNews(() => {});
  const drive: Drive = { claimed, lease, log, answers, signal, deps, entriesBefore: state.transcriptEntries };
  const settle = deps.payments.begin(() => log.state);
  try {
    while (!log.released) {
      if (signal.aborted || deps.now() >= (claimed.yieldAt ?? Infinity)) return await giveBack(drive);
      const how = await work(drive);
      if (how === "lost") return;
      if (how === "stopped") return await giveBack(drive);
    }
  } finally {
    stopListening();
    await settle();
  }
}

/**
 * The transcript must grow by this factor before the next snapshot. While the session sleeps, readers then read the
 * snapshot and at most a fifth of the transcript.
 */
const GROWTH = 1.25;

function growths(entries: number): number {
  return Math.max(0, Math.ceil(Math.log(entries / 8) / Math.log(GROWTH)));
}

/** Resumes the open run, or does a waiting rewind, or begins the next prompt. Without such work, the session sleeps. */
async function work(drive: Drive): Promise<TurnEnd> {
  const { log, lease, deps } = drive;
  const { run } = log.state;
  // A cancelled run ends without a process.
  if (run && isCancelled(log.state, run)) return resumeRun(drive);
  if (run) return withProcess(drive, () => resumeRun(drive));
  const [asked] = log.state.rewinds;
  if (asked) {
    await rewind(drive, asked);
    return "ended";
  }
  const next = nextPrompt(log.state);
  const { onlyRun } = drive.claimed;
  if (next && onlyRun !== undefined && next.run_id !== onlyRun) return "stopped";
  if (next)
    return withProcess(drive, async () => {
      if (log.isBehind) await log.catchUp();
      const prompt = nextPrompt(log.state);
      return prompt ? startRun(drive, prompt) : "ended";
    });
  // With a snapshot, readers of the state skip Claude Code's transcript, which is most of the log.
  const isLonger = growths(log.state.transcriptEntries) > growths(drive.entriesBefore);
  const snapshot = isLonger ? snapshotOf(log.state) : undefined;
  await log.write(({ state }) =>
    state.run || state.rewinds.length > 0 || nextPrompt(state) ? undefined : { dueAt: null },
  );
  // Without the snapshot, readers are slower until a later worker writes one, so an error is ignored.
  if (snapshot && log.released) deps.store.writeSnapshot(lease.sessionId, snapshot).catch(() => undefined);
  return "ended";
}

/**
 * Waits until this server may run another process, and then works. Stops waiting if the session has no work any more.
 */
async function withProcess({ deps, log, signal }: Drive, work: () => Promise<TurnEnd>): Promise<TurnEnd> {
  const cancelled = new AbortController();
  const look = async (): Promise<void> => {
    if (log.isBehind) await log.catchUp();
    if (runToDrive(log.state) === undefined) cancelled.abort();
  };
  // If the store does not answer, the wait continues.
  const stopListening = log.onNews(() => void look().catch(() => undefined));
  const giveUp = await deps.children
    .place(log.state.tenant, AbortSignal.any([signal, cancelled.signal]))
    .finally(stopListening);
  if (giveUp) return work().finally(giveUp);
  return signal.aborted ? "stopped" : "ended";
}

async function giveBack({ log, signal }: Drive): Promise<void> {
  if (signal.reason !== LEASE_LOST) await log.write(({ now }) => ({ dueAt: now }));
}

async function startRun(drive: Drive, prompt: QueuedPrompt): Promise<TurnEnd> {
  const { log } = drive;
  const { run_id, message_id, content } = prompt;
  const isFirst = log.state.runs === 0;
  const hasLimit = isLimited(log.state, prompt);
  // Only a run with a limit needs to know the price before it begins.
  const { termsOf } = hasLimit ? await modelOfRun(drive, prompt) : createSessionModels(log.state.tenant, drive.deps);
  // The child gets its prompt while the beginning of the run is appended. The child's messages are appended later, and
  // tool calls with effects wait for that append. If the append is rejected, an answer of the model is lost, but nobody
  // has seen it.
  const begun = log.write((batch) => {
    const { state } = batch;
    if (state.run || !state.queue.some((queued) => queued.run_id === run_id)) return;
    batch.add(runStarted(prompt, state.agent?.formatter ?? "json"));
    batch.add(messageEntered(state, message_id));
    const broke = refusedEnd(drive.claimed) ?? budgetEnd(state, { now: batch.now, termsOf });
    if (broke) failRun(broke, batch);
  });
  begun.catch(() => undefined);
  if (drive.claimed.refusal !== undefined || hasLimit) {
    // A run that a cap or a budget has already ended needs no process.
    await begun;
    if (log.state.run?.runId !== run_id) return "ended";
  }
  let session: SessionChild;
  try {
    session = await childFor(drive, prompt);
  } catch (error) {
    await begun;
    return log.state.run?.runId === run_id ? cannotStart(drive, error) : "ended";
  }
  const how = await turn(drive, session, {
    runId: run_id,
    begun,
    begin: () => session.child.send(userMessage(message_id, content)),
  });
  if (how === "ended" && isFirst)
    // If this fails, the next run starts the process and reports the error.
    prepareNext(drive, prompt).catch(() => undefined);
  return how;
}

function isLimited(state: SessionState, prompt: QueuedPrompt): boolean {
  return budgetOf(state, prompt) !== null || (state.agent?.max_cost_micros ?? null) !== null;
}
