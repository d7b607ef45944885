import { type Claimed, LEASE_LOST, type QueuedPrompt, type SessionState, entered, snapshotOf } from "@skein/core";
import { textOf } from "@skein/protocol";
import { userMessage } from "./inbox.ts";
import { createLog } from "./log.ts";
import { type Drive, type DriveDeps, type Manned, cannotStart, childFor, prepareNext, turn } from "./manned.ts";
import { rewind } from "./rewind.ts";
import { takeUp } from "./take-up.ts";
import type { TurnEnd } from "./turn.ts";

/** Works until the session has nothing left to do here, and gives the lease back. */
export async function driveSession(claimed: Claimed, signal: AbortSignal, deps: DriveDeps): Promise<void> {
  const { sessionId } = claimed.lease;
  const lease = claimed.prolong(deps.leaseMs);
  const state = await deps.states.take(sessionId, claimed.lastSequence);
  const log = createLog(lease, claimed.clock, state, deps);
  const drive: Drive = { claimed, lease, log, signal, deps, entriesBefore: state.transcriptEntries };
  while (!log.released) {
    if (signal.aborted) return giveBack(drive);
    const how = await work(drive);
    if (how === "lost") return;
    if (how === "stopped") return giveBack(drive);
  }
}

/** A transcript that has grown by this factor is worth another snapshot: a reader reads a fifth of the log at most. */
const GROWTH = 1.25;

function growths(entries: number): number {
  return Math.max(0, Math.ceil(Math.log(entries / 8) / Math.log(GROWTH)));
}

/** One thing after the other: what was left open, then the prompts; with nothing left, the session sleeps. */
async function work(drive: Drive): Promise<TurnEnd> {
  const { log, lease, deps } = drive;
  if (log.state.run) return takeUp(drive);
  const [asked] = log.state.rewinds;
  if (asked) {
    await rewind(drive, asked);
    return "ended";
  }
  const prompt = nextPrompt(log.state);
  if (prompt) return startRun(drive, prompt);
  // Whoever asks for the state of the session need not read Claude Code's transcript, which is most of its log.
  const isLonger = growths(log.state.transcriptEntries) > growths(drive.entriesBefore);
  const snapshot = isLonger ? snapshotOf(log.state) : undefined;
  await log.write((state) =>
    state.run || state.rewinds.length > 0 || nextPrompt(state) ? undefined : { dueAt: null },
  );
  // It only saves work: if it cannot be written, the next one will be.
  if (snapshot && log.released) deps.store.writeSnapshot(lease.sessionId, snapshot).catch(() => undefined);
  return "ended";
}

async function giveBack({ log, signal, deps }: Drive): Promise<void> {
  if (signal.reason !== LEASE_LOST) await log.write(() => ({ dueAt: deps.now() }));
}

/** The prompt that interrupts, or the one that waits longest. */
function nextPrompt(state: SessionState): QueuedPrompt | undefined {
  return state.queue.find(({ mode }) => mode === "interrupt") ?? state.queue[0];
}

async function startRun(drive: Drive, prompt: QueuedPrompt): Promise<TurnEnd> {
  const { log } = drive;
  const { run_id, message_id, content } = prompt;
  const isFirst = log.state.runs === 0;
  // The child starts and gets its prompt while the beginning of the run is written down. What it says is written after
  // that, and nothing with an effect begins before: if the beginning is refused, an answer is lost that nobody has seen.
  const begun = log.write((state, emit) => {
    if (state.run || !state.queue.some((queued) => queued.run_id === run_id)) return;
    const formatter = state.agent?.formatter ?? "json";
    emit({ event_type: "session.started", data: { run_id, message_id, user_message: textOf(content), formatter } });
    emit(entered(state, message_id));
  });
  begun.catch(() => undefined);
  let manned: Manned;
  try {
    manned = await childFor(drive, prompt);
  } catch (error) {
    await begun;
    return log.state.run?.runId === run_id ? cannotStart(drive, error) : "ended";
  }
  const how = await turn(drive, manned, {
    runId: run_id,
    begun,
    begin: () => manned.child.send(userMessage(message_id, content)),
  });
  if (how === "ended" && isFirst) prepareNext(drive, manned.options);
  return how;
}
