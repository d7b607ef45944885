import {
  type Content,
  type Event,
  type Failure,
  KnownError,
  NO_USAGE,
  type Usage,
  addUsage,
  blocksOf,
  isFactType,
  isToolUse,
} from "@skein/protocol";
import { estimateTokens } from "./estimate-tokens.ts";
import type { Snapshot } from "./store.ts";
import { type CallState, type RunState, type SessionState, emptyState } from "./state.ts";

/** Raised whenever the meaning of a state changes; snapshots of another version are folded anew. */
export const FOLD_VERSION = 1;

/**
 * Brings a state up to date with the events that follow it, and returns it.
 *
 * It changes the state it is given, because copying arrays per event makes a long log quadratic. Whoever needs the old
 * state keeps a snapshot. Strict: an event out of order or of an unknown type is refused, since a driver that skips what
 * it does not understand would act on half of the truth.
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
        `Session ${state.sessionId}: event ${event.sequence} is of type "${String(event.event_type)}", which this Skein does not know. A newer one wrote it.`,
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
    case "session.created": {
      const { data } = event;
      state.tenant = data.tenant;
      state.agentId = data.agent_id;
      state.agentVersion = data.agent_version;
      state.agent = data.agent;
      state.title = data.title;
      state.tags = data.tags;
      state.modelId = data.model_id;
      state.metadata = data.metadata;
      state.workingDirectory = data.working_directory;
      state.parent = data.parent;
      state.subagentOf = data.subagent_of;
      return;
    }
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
    case "cancel.requested": {
      const { run_id, reason } = event.data;
      // A cancel names its run: for one that is over it means nothing, a queued one never starts.
      if (run?.runId === run_id) {
        run.cancelRequested = true;
        run.cancelReason = reason;
      }
      state.queue = state.queue.filter((prompt) => prompt.run_id !== run_id);
      return;
    }
    case "session.started":
      state.run = newRun(state, event.data, event.created_at);
      state.runs += 1;
      return;
    case "message.created":
      enter(state, event.data.message_id);
      return;
    case "session.completed":
    case "session.failed":
      state.outcome = event.event_type === "session.completed" ? "completed" : event.data.outcome;
      state.run = null;
      return;
    case "transcript.appended":
      state.transcriptEntries += event.data.entries.length;
      return;
    case "checkpoint.created":
      return;
    case "await.answered": {
      const call = run?.calls.find(({ toolUseId }) => toolUseId === event.data.tool_use_id);
      // The first answer counts; a second one, or one for a call that is over, changes nothing. A quick subagent may
      // answer before its caller has written down that it waits.
      if ((call?.phase === "waiting" || call?.phase === "asked") && !call.answer) call.answer = event.data;
      return;
    }
    default:
      if (run) applyToRun(state, run, event);
  }
}

type RunEvent = Exclude<
  Event,
  {
    readonly event_type:
      | "session.created"
      | "session.edited"
      | "title.generated"
      | "message.copied"
      | "prompt.accepted"
      | "cancel.requested"
      | "session.started"
      | "message.created"
      | "session.completed"
      | "session.failed"
      | "transcript.appended"
      | "checkpoint.created"
      | "await.answered";
  }
>;

/** What opens a call, and what closes one that a dead worker left open: a run that kills every worker writes these for ever. */
const NO_PROGRESS: ReadonlySet<RunEvent["event_type"]> = new Set<RunEvent["event_type"]>([
  "run.resumed",
  "step.started",
  "step.abandoned",
  "tool.started",
]);

/** Facts of the driver inside a run. */
function applyToRun(state: SessionState, run: RunState, event: RunEvent): void {
  if (!NO_PROGRESS.has(event.event_type)) run.resumesWithoutProgress = 0;
  switch (event.event_type) {
    case "run.resumed":
      run.fence = event.data.fence;
      run.resumesWithoutProgress += 1;
      return;
    case "step.started":
      run.step = event.data.step;
      run.call = event.data;
      run.callUnder = run.fence;
      run.retryAt = null;
      if (event.data.purpose === "step" || event.data.purpose === "summary") run.stepDone = false;
      return;
    case "step.retried":
      run.call = null;
      run.attempts = event.data.attempt;
      run.retryAt = new Date(Date.parse(event.created_at) + event.data.delay_ms).toISOString();
      return;
    case "step.error":
      failCall(run, event.data.error);
      return;
    case "step.abandoned":
      run.call = null;
      countCall(state, run, event.data);
      return;
    case "step.generated": {
      const { data } = event;
      run.call = null;
      run.attempts = 0;
      if (data.container_id !== null) state.containerId = data.container_id;
      countCall(state, run, data);
      if (data.purpose === "title") run.titleTried = true;
      if (data.purpose === "title" || data.purpose === "compaction") return;
      run.stopReason = data.stop_reason;
      run.lastPurpose = data.purpose;
      run.answerValid = false;
      run.compactionChecked = false;
      run.files.push(...generatedFiles(data.content, data.step));
      run.stepDone = true;
      run.replyId = data.message_id;
      run.repaired = false;
      state.contextTokens = contextTokens(data.usage);
      state.pending[data.message_id] = { role: "assistant", content: data.content };
      run.resultsMessageId = data.results_message_id;
      run.calls = callsIn(data.content);
      return;
    }
    case "tool.started": {
      const call = openCall(run, event.data.tool_use_id);
      if (!call) return;
      call.phase = "started";
      call.policy = event.data.policy;
      call.startedUnder = run.fence;
      return;
    }
    case "tool.completed": {
      const call = openCall(run, event.data.tool_use_id);
      if (!call) return;
      call.phase = "done";
      call.result = { content: event.data.content, isError: event.data.is_error };
      return;
    }
    case "await.opened":
      for (const opened of event.data.awaits) {
        const call = openCall(run, opened.tool_use_id);
        if (!call) continue;
        call.phase = "waiting";
        call.awaiting = opened.kind;
        call.openedAt = event.created_at;
        call.expiresAt = opened.expires_at;
      }
      return;
    case "await.resolved": {
      const call = openCall(run, event.data.tool_use_id);
      // An approval lets the call run; everything else is followed by the call's result.
      if (call?.awaiting !== "approval" || event.data.resolution !== "answered" || call.answer?.is_error) return;
      call.phase = "asked";
      call.awaiting = null;
      call.approved = true;
      call.answer = null;
      return;
    }
    case "answer.validated":
      run.answerValid = event.data.passed;
      if (!event.data.passed) run.validationFailures += 1;
      return;
    case "steps.exhausted":
      run.exhausted = true;
      return;
    case "compaction.checked":
      run.compactionChecked = true;
      if (event.data.applied) state.contextTokens = event.data.tokens_after;
      if (event.data.messages)
        state.compacted = {
          until: state.transcript.length,
          messages: event.data.messages as readonly { role: "user" | "assistant"; content: Content }[],
        };
      return;
    case "memory.retrieved":
      run.memoryRetrieved = true;
      run.memories = event.data.injected;
      return;
    case "memory.updated":
      run.memoryUpdated = true;
      return;
    case "file.stored":
      registerFile(state, run, event);
      return;
    case "parent.informed":
      run.parentInformed = true;
      return;
    case "transcript.repaired":
      run.repaired = true;
      return;
    case "file.failed":
      run.files = run.files.filter(({ fileId }) => fileId !== event.data.file_id);
      return;
    case "memory.saved":
    case "memory.restored":
    case "file.generated":
    case "file.downloaded":
  }
}

function newRun(
  state: SessionState,
  started: Extract<Event, { event_type: "session.started" }>["data"],
  at: string,
): RunState {
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
    calls: [],
    resultsMessageId: null,
    stopReason: null,
    lastPurpose: "step",
    cancelRequested: false,
    cancelReason: null,
    exhausted: false,
    usage: NO_USAGE,
    costMicros: 0,
    unpricedCalls: 0,
    filesGenerated: 0,
    fence: 0,
    resumesWithoutProgress: 0,
    validationFailures: 0,
    compactionChecked: false,
    memoryRetrieved: false,
    memories: [],
    answerValid: false,
    files: [],
    memoryUpdated: false,
  };
}

/** A message takes its place in the transcript, with the content that was waiting for it. */
function enter(state: SessionState, messageId: string): void {
  const { run } = state;
  if (run && messageId === run.resultsMessageId) {
    const content = run.calls.map(toolResult);
    state.transcript.push({ id: messageId, role: "user", content });
    state.contextTokens += estimateTokens(content);
    run.calls = [];
    run.resultsMessageId = null;
    return;
  }
  const pending = state.pending[messageId];
  if (!pending)
    throw new KnownError(
      "store_corrupt",
      `Session ${state.sessionId}: message ${messageId} enters the transcript without content.`,
    );
  delete state.pending[messageId];
  // A prompt that steers enters while another one's run goes on.
  state.queue = state.queue.filter(({ message_id }) => message_id !== messageId);
  state.transcript.push({ id: messageId, ...pending });
  // A reply was measured by the model that made it; everything else is estimated until the next call measures it.
  if (run?.replyId === messageId) run.replyId = null;
  else state.contextTokens += estimateTokens(pending.content);
}

/** Only the call that a run lives on can fail it; a title or a compaction that fails is gone without. */
function failCall(run: RunState, error: Failure): void {
  const purpose = run.call?.purpose ?? "step";
  run.call = null;
  run.attempts = 0;
  if (purpose === "title") run.titleTried = true;
  else if (purpose === "compaction") run.compactionChecked = true;
  else run.failure = error;
}

function toolResult(call: CallState): { type: string; [key: string]: unknown } {
  return {
    type: "tool_result",
    tool_use_id: call.toolUseId,
    content: call.result?.content ?? "",
    ...(call.result?.isError && { is_error: true }),
  };
}

function callsIn(content: Content): CallState[] {
  return blocksOf(content)
    .filter(isToolUse)
    .map((block) => ({
      toolUseId: block.id,
      name: block.name,
      input: block.input,
      phase: "asked",
      awaiting: null,
      openedAt: null,
      approved: false,
      policy: null,
      startedUnder: 0,
      expiresAt: null,
      answer: null,
      result: null,
    }));
}

function openCall(run: RunState, toolUseId: string): CallState | undefined {
  return run.calls.find((call) => call.toolUseId === toolUseId && call.phase !== "done");
}

function countCall(
  state: SessionState,
  run: RunState,
  { usage, cost }: Pick<Extract<Event, { event_type: "step.abandoned" }>["data"], "usage" | "cost">,
): void {
  for (const totals of [state, run]) {
    totals.usage = addUsage(totals.usage, usage);
    totals.costMicros += cost?.total_micros ?? 0;
    totals.unpricedCalls += cost ? 0 : 1;
  }
}

function registerFile(state: SessionState, run: RunState, event: Extract<Event, { event_type: "file.stored" }>): void {
  const { file_id, filename, storage_path, size, mime_type } = event.data;
  const known = Object.hasOwn(state.files, file_id) ? state.files[file_id] : undefined;
  state.files[file_id] = {
    filename,
    storage_path,
    size,
    mime_type,
    created_in_run: known?.created_in_run ?? run.runId,
    last_updated_run: run.runId,
    last_updated_at: event.created_at,
  };
  run.filesGenerated += 1;
  run.files = run.files.filter(({ fileId }) => fileId !== file_id);
}

/** Everything that the model had before it and said, in tokens. */
function contextTokens(usage: Usage): number {
  return (
    usage.input_tokens +
    usage.output_tokens +
    (usage.cache_creation_input_tokens ?? 0) +
    (usage.cache_read_input_tokens ?? 0)
  );
}

/** Files that code execution left behind: the result blocks of server tools name them, at any depth. */
function generatedFiles(content: Content, step: number): { fileId: string; step: number }[] {
  return blocksOf(content)
    .filter(({ type }) => type.endsWith("code_execution_tool_result"))
    .flatMap((block) => fileIds(block["content"]))
    .map((fileId) => ({ fileId, step }));
}

function fileIds(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(fileIds);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "file_id" && typeof inner === "string" ? [inner] : fileIds(inner),
  );
}
