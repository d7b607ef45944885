import {
  type Event,
  type FactData,
  type Failure,
  KnownError,
  NO_USAGE,
  addPicos,
  isFactType,
  picosOfTotals,
} from "@skein/protocol";
import { estimateTokens } from "./estimate-tokens.ts";
import { applyToRun } from "./fold-run.ts";
import { reserve, reservedUntil } from "./reservations.ts";
import { type CallState, type RunState, type SessionState, emptyState } from "./state.ts";
import type { Snapshot } from "../ports/store.ts";

/**
 * Increase this number whenever the meaning of a state changes: a snapshot of another version is then ignored, and the
 * log is folded again.
 */
export const FOLD_VERSION = 9;

/**
 * Applies the events that follow a state, and returns the state. It changes the given state, because copying would make
 * a long log slow. A caller that needs the old state keeps a snapshot. It rejects events that are out of order or of an
 * unknown type, because a driver must not act on an incomplete state.
 */
export function fold(state: SessionState, events: readonly Event[]): SessionState {
  for (const event of events) {
    if (event.sequence !== state.sequence + 1)
      throw new KnownError(
        "store_corrupt",
        `Session ${state.sessionId}: event ${event.sequence} follows ${state.sequence}. Expected ${state.sequence + 1}.`,
      );
    if (!isFactType(event.event_type))
      throw new KnownError(
        "unreadable",
        `Session ${state.sessionId}: event ${event.sequence} is of type "${String(event.event_type)}", which this version of Skein does not know. A newer version wrote it. Update Skein.`,
      );
    state.sequence = event.sequence;
    apply(state, event);
  }
  return state;
}

export function foldAll(sessionId: string, events: readonly Event[]): SessionState {
  return fold(emptyState(sessionId), events);
}

export function snapshotOf(state: SessionState): Snapshot {
  return { sequence: state.sequence, version: FOLD_VERSION, state: JSON.stringify(state) };
}

/** The state of a snapshot, or undefined if another version of the fold made it. */
export function restore(snapshot: Snapshot): SessionState | undefined {
  return snapshot.version === FOLD_VERSION ? (JSON.parse(snapshot.state) as SessionState) : undefined;
}

function apply(state: SessionState, event: Event): void {
  const { run } = state;
  switch (event.event_type) {
    case "session.created":
      return begin(state, event.data);
    case "session.edited": {
      const { title, tags, model_id, metadata } = event.data;
      if (title !== undefined) state.title = title;
      if (tags) state.tags = tags;
      if (model_id !== undefined) state.modelId = model_id;
      if (metadata) state.metadata = metadata;
      return;
    }
    case "title.generated":
      state.title = event.data.title;
      return;
    case "message.copied":
      state.transcript.push({ id: event.data.message_id, role: event.data.role, content: event.data.content });
      state.contextTokens += estimateTokens(event.data.content);
      return;
    case "prompt.accepted":
      state.queue.push(event.data);
      state.pending[event.data.message_id] = { role: "user", content: event.data.content };
      return;
    case "cancel.requested":
      return cancel(state, event.data);
    case "session.started":
      state.run = newRun(state, event.data, event.created_at);
      state.runs += 1;
      return;
    case "message.created":
      enter(state, event.data.message_id);
      return;
    case "session.completed":
    case "session.failed":
      if (run && event.event_type === "session.failed") leaveOut(state, run, event.data.error);
      // If the run was cancelled before its prompt was read, the prompt is still pending.
      if (run) delete state.pending[run.prompt.message_id];
      state.outcome = event.event_type === "session.completed" ? "completed" : event.data.outcome;
      state.run = null;
      return;
    case "transcript.appended":
      state.transcriptEntries += event.data.entries.length;
      return;
    case "control.requested": {
      const { permission_mode, model } = event.data;
      if (permission_mode !== null) state.control.permissionMode = permission_mode;
      if (model !== null) state.control.model = model;
      return;
    }
    case "rewind.requested":
      state.rewinds.push(event.data);
      return;
    case "rewind.completed":
      state.rewinds = state.rewinds.filter(({ rewind_id }) => rewind_id !== event.data.rewind_id);
      return;
    case "checkpoint.created":
      return;
    case "await.answered": {
      const { reserved_micros = 0 } = event.data;
      const spent = picosOfTotals(event.data);
      state.delegatedPicos = addPicos(state.delegatedPicos, spent);
      if (run?.spendAsk?.toolUseId === event.data.tool_use_id) run.spendAsk.answer ??= event.data;
      const call = run?.calls.find(({ toolUseId }) => toolUseId === event.data.tool_use_id);
      // The first answer counts. The content of a second answer, or of an answer to a call that has ended, is not used.
      // A fast subagent may answer before the log of its caller has recorded the wait.
      if ((call?.phase === "waiting" || call?.phase === "asked") && !call.answer) call.answer = event.data;
      if (!run || !call) return;
      run.delegatedPicos = addPicos(run.delegatedPicos, spent);
      reserve(state, { runId: run.runId, micros: reserved_micros, until: reservedUntil(event.created_at) });
      return;
    }
    default:
      if (run) applyToRun(state, run, event);
  }
}

function begin(state: SessionState, created: FactData<"session.created">): void {
  state.tenant = created.tenant;
  state.agentId = created.agent_id;
  state.agentVersion = created.agent_version;
  state.agent = created.agent;
  state.title = created.title;
  state.tags = created.tags;
  state.modelId = created.model_id;
  state.metadata = created.metadata;
  state.workingDirectory = created.working_directory;
  state.parent = created.parent;
  state.subagentOf = created.subagent_of;
  state.openedBy = created.opened_by ?? null;
}

/** Cancels the run that the fact names. A queued run then never starts. If the run has ended, nothing changes. */
function cancel(state: SessionState, { run_id, reason }: FactData<"cancel.requested">): void {
  if (state.run?.runId === run_id) {
    state.run.cancelRequested = true;
    state.run.cancelReason = reason;
  }
  for (const prompt of state.queue) if (prompt.run_id === run_id) delete state.pending[prompt.message_id];
  state.queue = state.queue.filter((prompt) => prompt.run_id !== run_id);
}

function newRun(state: SessionState, started: FactData<"session.started">, at: string): RunState {
  const prompt = state.queue.find(({ message_id }) => message_id === started.message_id);
  if (!prompt)
    throw new KnownError(
      "store_corrupt",
      `Session ${state.sessionId}: run ${started.run_id} starts from prompt ${started.message_id}, which was never accepted.`,
    );
  state.queue = state.queue.filter((queued) => queued !== prompt);
  return {
    runId: started.run_id,
    startedAt: at,
    prompt,
    step: 0,
    call: null,
    stepDone: true,
    replyId: null,
    failure: null,
    titleTried: false,
    parentInformed: false,
    repaired: false,
    callUnder: 0,
    attempts: 0,
    retryAt: null,
    fallback: null,
    schemaRefused: false,
    modelHook: null,
    calls: [],
    resultsMessageId: null,
    stopReason: null,
    lastPurpose: "step",
    cancelRequested: false,
    cancelReason: null,
    exhausted: false,
    usage: NO_USAGE,
    costPicos: "0",
    delegatedPicos: "0",
    unpricedCalls: 0,
    estimatedCalls: 0,
    simulatedCalls: 0,
    filesGenerated: 0,
    spendAsk: null,
    fence: 0,
    resumesWithoutProgress: 0,
    validationFailures: 0,
    validationProblem: null,
    noticed: [],
    compactionChecked: false,
    memoryRetrieved: false,
    answerValid: false,
    files: [],
    memoryUpdated: false,
    unread: [],
  };
}

/** Adds a message to the transcript, with the content that waited for it in `pending`. */
function enter(state: SessionState, messageId: string): void {
  const { run } = state;
  if (run && messageId === run.resultsMessageId) {
    const content = run.calls.map(toolResult);
    state.transcript.push({ id: messageId, role: "user", content });
    state.contextTokens += estimateTokens(content);
    run.calls = [];
    run.resultsMessageId = null;
    run.unread.push(messageId);
    return;
  }
  const pending = state.pending[messageId];
  if (!pending)
    throw new KnownError(
      "store_corrupt",
      `Session ${state.sessionId}: message ${messageId} enters the transcript without content.`,
    );
  delete state.pending[messageId];
  // A prompt may enter the transcript while the run of another prompt continues (mode `steer`).
  state.queue = state.queue.filter(({ message_id }) => message_id !== messageId);
  state.transcript.push({ id: messageId, ...pending });
  // The model counted the tokens of its reply. The tokens of other messages are estimated until the next model call.
  if (run?.replyId === messageId) run.replyId = null;
  else {
    state.contextTokens += estimateTokens(pending.content);
    run?.unread.push(messageId);
  }
}

function toolResult(call: CallState): { type: string; [key: string]: unknown } {
  return {
    type: "tool_result",
    tool_use_id: call.toolUseId,
    content: call.result?.content ?? "",
    ...(call.result?.isError && { is_error: true }),
  };
}

/** The HTTP statuses with which the model's API rejects a request for its content. The API would reject a retry too. */
const REFUSALS: ReadonlySet<number | undefined> = new Set([400, 413]);

/** Leaves out messages for which the model's API rejected the request, because they would make every later run fail. */
function leaveOut(state: SessionState, { unread }: RunState, { status, code }: Failure): void {
  // If the provider rejects a request for lack of credit, the messages are not the cause.
  const refused = (REFUSALS.has(status) && code !== "billing_error") || code === "context_window_exceeded";
  if (!refused) return;
  for (const { id, content } of state.transcript.slice(-unread.length)) {
    if (!unread.includes(id)) continue;
    state.leftOut.push(id);
    state.contextTokens = Math.max(0, state.contextTokens - estimateTokens(content));
  }
}
