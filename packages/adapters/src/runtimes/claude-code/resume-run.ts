import {
  type Batch,
  type CallState,
  LOST_RESULT,
  type RunEnd,
  type RunState,
  type SessionState,
  forcedEnd,
  isCancelled,
  runResumed,
  transcriptAppended,
} from "@skein/core";
import type { ContentBlock, JsonObject } from "@skein/protocol";
import { budgetEnd, refusedEnd } from "./budget.ts";
import { closeStrays, missing, settleCall, settledBy } from "./call-results.ts";
import { GO_ON } from "./environment.ts";
import { userMessage } from "./inbox.ts";
import { deferredEntry, hasMessage, isDeferred, resultEntry, resultIn, soundPart } from "./interrupted-transcript.ts";
import { messageIdOf } from "./message-id.ts";
import { permissionOf } from "./permission.ts";
import { recordMessage, recordSteered } from "./record-messages.ts";
import { completeRun, failRun } from "./end-run.ts";
import type { CallResult, ClaudeMessage } from "./sdk-messages.ts";
import { type Drive, cannotStart, childFor, modelOfRun, turn } from "./session-child.ts";
import type { SessionModels } from "./session-models.ts";
import { type Entry, type Transcript, blocksIn, readTranscript, steeredBy } from "./transcript.ts";
import type { TurnEnd } from "./turn.ts";

/** The time limit until a resumed child continues, and the error of the run if it does not. */
const FIRST_WORD = {
  ms: 60_000,
  code: "interrupted",
  message: "The server stopped during this turn, and the turn could not be resumed. Send another prompt to continue.",
};

const NOT_RUN =
  "This call was not run: the session was paused while another call waited for its answer. Ask for it again if it is still needed.";

/**
 * Continues a run that has not ended and has no child (process of Claude Code), because its server died or the run
 * waited for a person's answer.
 */
export async function resumeRun(drive: Drive): Promise<TurnEnd> {
  const { log, deps, lease } = drive;
  const transcript = await readTranscript(deps.store, lease.sessionId);
  const before = log.state.run as RunState;
  const waits = before.calls.some(isWaiting) && !isCancelled(log.state, before);
  // The model gets all results of a step together, so the run waits until every question has an answer.
  if (waits && before.calls.some(isUnanswered)) return putAside(drive);
  const awaits = await deps.store.awaits(lease.sessionId);
  const { termsOf } = await modelOfRun(drive, before.prompt);
  await log.write((batch) => {
    const resumed = resume(batch, lease.fence);
    if (!resumed) return;
    if (waits && !resumed.over) return deferCall(transcript, batch);
    closeStrays(awaits, batch);
    closeRun(transcript, resumed, { batch, termsOf, claimed: drive.claimed });
  });
  const { run } = log.state;
  if (!run) return "ended";
  const isUnheard = !hasMessage(transcript, run.prompt.message_id);
  try {
    const goOn = { env: GO_ON, shown: (all: Transcript) => soundPart(all, log.state) };
    const session = await childFor(drive, run.prompt, { fresh: true, ...(!waits && goOn) });
    const begin = (): void => {
      if (isUnheard) session.child.send(userMessage(run.prompt.message_id, run.prompt.content));
    };
    return await turn(drive, session, { runId: run.runId, begin, firstWord: FIRST_WORD });
  } catch (error) {
    return cannotStart(drive, error);
  }
}

const isWaiting = ({ phase }: CallState): boolean => phase === "waiting";
const isUnanswered = (call: CallState): boolean => isWaiting(call) && call.answer === null;

/** Lets the session wait without a child. The next answer of a person wakes the session. */
async function putAside({ log }: Drive): Promise<TurnEnd> {
  await log.write(({ state }) =>
    state.run?.cancelRequested || !state.run?.calls.some(isUnanswered) ? undefined : { dueAt: null },
  );
  return "ended";
}

/** Marks the call that the resumed process will run. All other open calls get their results. */
function deferCall(transcript: Transcript, batch: Batch): void {
  const open = (batch.state.run?.calls ?? []).filter(({ phase }) => phase !== "done");
  const waiting = open.filter(isWaiting);
  // A process resumes only one call. A call that must still run has priority, because an answered question needs no
  // process.
  const next = waiting.find((call) => !ownResult(call)) ?? waiting[0];
  const entries: Entry[] = [];
  for (const call of open) {
    if (call === next) continue;
    const { toolUseId } = call;
    const known = resultIn(transcript, toolUseId);
    const made = ownResult(call) ?? { toolUseId, content: NOT_RUN, isError: true };
    const entry = known ? undefined : resultEntry(transcript, made);
    if (entry) entries.push(entry);
    const resolution = call.answer ? "answered" : "cancelled";
    settleCall({ ...settledBy(known ?? made), resolution }, batch);
  }
  const deferred = next && !isDeferred(transcript, next.toolUseId) && deferredEntry(transcript, next);
  if (deferred) entries.push(deferred);
  appendEntries(entries, batch);
}

type MadeResult = CallResult & { readonly content: string };

/** Returns the result of a call that a person has answered or denied. Returns undefined if a tool must run first. */
function ownResult({ toolUseId, answer, awaiting, input }: CallState): MadeResult | undefined {
  if (!answer || (awaiting !== "question" && awaiting !== "approval")) return undefined;
  const decision = permissionOf(answer, awaiting, input as JsonObject);
  if (decision.behavior === "deny") return { toolUseId, content: decision.message, isError: true };
  if (awaiting === "approval") return undefined;
  const answers = Object.entries((decision.updatedInput?.["answers"] ?? {}) as Record<string, string>);
  const said = answers.map(([question, text]) => `${JSON.stringify(question)}: ${JSON.stringify(text)}`);
  return { toolUseId, content: `The user has answered. ${said.join(", ")}`, isError: false };
}

/** A run that this worker resumes. If `over` is set, the run must end now. */
interface Resumed {
  readonly run: RunState;
  readonly over: RunEnd | undefined;
}

function resume({ state, add }: Batch, fence: number): Resumed | undefined {
  if (!state.run) return undefined;
  add(runResumed(state.run, fence));
  return { run: state.run, over: forcedEnd(state, state.run) };
}

/**
 * Closes the open tool calls of a run that was interrupted. A call gets its result from the transcript, or else an
 * error that its result was lost. Also ends the run if it must end now or already has its final answer.
 */
function closeRun(
  transcript: Transcript,
  { run, over }: Resumed,
  { batch, claimed, termsOf }: Pick<Drive, "claimed"> & Pick<SessionModels, "termsOf"> & { readonly batch: Batch },
): void {
  const { state } = batch;
  const entries: Entry[] = [];
  const open = run.calls.filter(({ phase }) => phase !== "done");
  for (const { toolUseId } of open) {
    const result = resultIn(transcript, toolUseId);
    const lost = { toolUseId, content: LOST_RESULT.content, isError: true };
    const entry = result ? undefined : resultEntry(transcript, lost);
    if (entry) entries.push(entry);
    settleCall(result ? settledBy(result) : missing(toolUseId, LOST_RESULT), batch);
  }
  appendEntries(entries, batch);
  recordAllSteered(transcript, batch);
  if (over) return failRun(over, batch);
  const reply = open.length === 0 ? lastReply(transcript, state) : undefined;
  if (reply) recordMessage(reply, batch, { termsOf });
  if (hasAnswered(state)) return completeRun(batch);
  const broke = refusedEnd(claimed) ?? budgetEnd(state, { now: batch.now, termsOf });
  if (broke) failRun(broke, batch);
}

/** Records the prompts that Claude Code had read during the turn. */
function recordAllSteered(transcript: Transcript, batch: Batch): void {
  const steered = new Set((transcript.get("") ?? []).flatMap((entry) => steeredBy(entry) ?? []));
  for (const { message_id } of batch.state.queue) if (steered.has(message_id)) recordSteered(message_id, batch);
}

/** Returns true if the run has its final answer, so that only the end of the run is missing. */
function hasAnswered(state: SessionState): boolean {
  const last = state.transcript.at(-1);
  return state.run !== null && state.run.step > 0 && state.run.calls.length === 0 && last?.role === "assistant";
}

/** Returns a final answer that the transcript has, but the session's messages do not have. */
function lastReply(transcript: Transcript, state: SessionState): Extract<ClaudeMessage, { kind: "reply" }> | undefined {
  const entries = transcript.get("") ?? [];
  const last = entries.findLast(({ type }) => type === "assistant" || type === "user");
  if (last?.type !== "assistant") return undefined;
  const { id, model, usage, stop_reason } = last["message"] as {
    id: string;
    model: string;
    usage: Extract<ClaudeMessage, { kind: "reply" }>["usage"];
    stop_reason: string | null;
  };
  const parts = entries.filter((entry) => (entry["message"] as { id?: string } | undefined)?.id === id);
  const content = parts.flatMap(blocksIn) as ContentBlock[];
  const isKnown = state.transcript.some((message) => message.id === messageIdOf(state.sessionId, id));
  const isFinal =
    stop_reason !== null && stop_reason !== "tool_use" && content.every(({ type }) => type !== "tool_use");
  if (isKnown || !isFinal) return undefined;
  return { kind: "reply", apiMessageId: id, content, model, usage, stopReason: stop_reason, durationMs: 0 };
}

function appendEntries(entries: readonly Entry[], { add }: Batch): void {
  if (entries.length > 0) add(transcriptAppended(entries, null));
}
