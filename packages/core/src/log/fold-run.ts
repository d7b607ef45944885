import {
  type Content,
  type Event,
  type FactData,
  type Failure,
  type Usage,
  addPicos,
  addUsage,
  blocksOf,
  exactCost,
  isToolUse,
} from "@skein/protocol";
import { approvedInput, isApproval } from "../run/approval.ts";
import { isPoisoned } from "../run/rules.ts";
import type { CountedCall } from "./counted-call.ts";
import { estimateTokens } from "./estimate-tokens.ts";
import { hookSaid } from "./hook-outcome.ts";
import { reserve } from "./reservations.ts";
import { SPEND_AWAIT, type CallState, type RunState, type SessionState, TOOLS_NOTICED } from "./state.ts";

/** Events that only mean something inside a run. */
export type RunEvent = Exclude<
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
      | "control.requested"
      | "rewind.requested"
      | "rewind.completed"
      | "await.answered";
  }
>;

/**
 * Facts that are no progress of a run. A worker appends them when it takes over a run, begins something, or closes a
 * call of a dead worker. Even a run that crashes every worker gets such facts.
 */
const NO_PROGRESS: ReadonlySet<RunEvent["event_type"]> = new Set<RunEvent["event_type"]>([
  "run.resumed",
  "runtime.started",
  "runtime.noticed",
  "hook.called",
  "step.started",
  "step.abandoned",
  "tool.started",
]);

/**
 * Returns whether a fact is progress of the run. An unknown result or a cancelled wait is no progress: it only closes a
 * call that a dead worker left open.
 */
function isProgress(event: RunEvent): boolean {
  if (event.event_type === "tool.completed") return event.data.outcome !== "unknown";
  if (event.event_type === "await.resolved") return event.data.resolution !== "cancelled";
  return !NO_PROGRESS.has(event.event_type);
}

/** Folds a fact that the driver appended during a run. */
export function applyToRun(state: SessionState, run: RunState, event: RunEvent): void {
  // A run is poisoned if too many workers in a row took it over without progress. The facts that end it, for example
  // the results of its open calls, do not count as progress: the run stays poisoned.
  if (isProgress(event) && !isPoisoned(run)) run.resumesWithoutProgress = 0;
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
      if (event.data.lost) breakOff(state, run, event.data.lost);
      run.call = null;
      if (event.data.error.code === "container_gone") state.containerId = null;
      run.attempts = event.data.attempt;
      if (event.data.model !== undefined) run.fallback = { model: event.data.model, attemptsBefore: run.attempts };
      if (event.data.output === "tool") run.schemaRefused = true;
      run.retryAt = new Date(Date.parse(event.created_at) + event.data.delay_ms).toISOString();
      return;
    case "step.error":
      if (event.data.lost) breakOff(state, run, event.data.lost);
      interrupt(state, run, event.data);
      failCall(run, event.data.error);
      return;
    case "step.abandoned":
      run.call = null;
      breakOff(state, run, event.data);
      interrupt(state, run, event.data);
      return;
    case "step.generated": {
      const { data } = event;
      const asked = run.call?.model ?? data.model;
      run.call = null;
      noAttempts(run);
      if (data.container_id !== null) state.containerId = data.container_id;
      countCall(state, run, data);
      state.reservations = [];
      if (data.purpose === "title") run.titleTried = true;
      if (data.purpose === "title" || data.purpose === "compaction") return;
      run.modelHook = null;
      run.stopReason = data.stop_reason;
      run.lastPurpose = data.purpose;
      run.answerValid = false;
      run.compactionChecked = false;
      run.files.push(...generatedFiles(data.content).map((fileId) => ({ fileId, step: data.step, model: asked })));
      run.stepDone = true;
      run.replyId = data.message_id;
      run.unread = [];
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
        if (!call && opened.kind === "approval" && opened.name === SPEND_AWAIT)
          run.spendAsk = spendAskOf(opened, event.created_at);
        if (!call) continue;
        call.phase = "waiting";
        call.awaiting = opened.kind;
        call.openedAt = event.created_at;
        call.expiresAt = opened.expires_at;
      }
      return;
    case "await.resolved": {
      if (run.spendAsk?.toolUseId === event.data.tool_use_id) run.spendAsk = null;
      const call = openCall(run, event.data.tool_use_id);
      // Only an approved call has to run now. After any other await, the next fact has the result of the call.
      if (call?.awaiting !== "approval" || event.data.resolution !== "answered") return;
      if (!call.answer || !isApproval(call.answer)) return;
      const input = approvedInput(call.answer);
      if (input) Object.assign(call, { input, isChanged: true });
      call.phase = "asked";
      call.awaiting = null;
      call.approved = true;
      call.answer = null;
      return;
    }
    case "answer.validated":
      run.answerValid = event.data.passed;
      if (!event.data.passed) run.validationFailures += 1;
      run.validationProblem = event.data.reason;
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
      if (event.data.injected.length > 0) state.recalled[run.prompt.message_id] = event.data.injected;
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
    case "subagent.messaged":
      if (event.data.usage) countCall(state, run, { ...event.data, usage: event.data.usage });
      return;
    case "runtime.noticed":
      if (event.data.subtype === TOOLS_NOTICED) run.noticed.push(String(event.data.notice["text"]));
      return;
    case "hook.called":
      hookSaid(run, openCall(run, event.data.tool_use_id ?? ""), event.data);
      return;
    case "runtime.started":
    case "memory.saved":
    case "memory.restored":
    case "file.generated":
    case "file.downloaded":
  }
}

/** Fails the run if a step or a summary failed. If a title or a compaction failed, the run continues. */
function failCall(run: RunState, error: Failure): void {
  const purpose = run.call?.purpose ?? "step";
  run.call = null;
  noAttempts(run);
  if (purpose === "title") run.titleTried = true;
  else if (purpose === "compaction") run.compactionChecked = true;
  else run.failure = error;
}

/** Resets the number of attempts, for the next model call. */
function noAttempts(run: RunState): void {
  run.attempts = 0;
  if (run.fallback) run.fallback.attemptsBefore = 0;
}

function callsIn(content: Content): CallState[] {
  return blocksOf(content)
    .filter(isToolUse)
    .map((block) => ({
      toolUseId: block.id,
      name: block.name,
      input: block.input,
      isChanged: false,
      hook: null,
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

/** Returns the state of the question whether a run may spend more. The question is an await without a tool call. */
function spendAskOf({ tool_use_id, input }: FactData<"await.opened">["awaits"][number], openedAt: string) {
  const { cap } = (input ?? {}) as { readonly cap?: unknown };
  return { toolUseId: tool_use_id, scope: String(cap), openedAt, answer: null };
}

function openCall(run: RunState, toolUseId: string): CallState | undefined {
  return run.calls.find((call) => call.toolUseId === toolUseId && call.phase !== "done");
}

function countCall(state: SessionState, run: RunState, { usage, cost, estimated, simulated }: CountedCall): void {
  const spent = cost ? exactCost(cost).total : 0n;
  for (const totals of [state, run]) {
    totals.usage = addUsage(totals.usage, usage);
    totals.costPicos = addPicos(totals.costPicos, spent);
    totals.unpricedCalls += cost ? 0 : 1;
  }
  run.estimatedCalls += estimated ? 1 : 0;
  run.simulatedCalls += simulated ? 1 : 0;
}

/** Counts the known usage of a call that broke off, and reserves what the call may have cost beyond that. */
function breakOff(state: SessionState, run: RunState, lost: NonNullable<FactData<"step.error">["lost"]>): void {
  countCall(state, run, lost);
  const { reserved_micros = 0, reservation } = lost;
  if (reservation) reserve(state, { runId: run.runId, micros: reserved_micros, until: reservation.until });
}

/** Makes a message from the text of an interrupted answer. Estimates its tokens. */
function interrupt(
  state: SessionState,
  run: RunState,
  { message_id, content }: Pick<FactData<"step.abandoned">, "message_id" | "content">,
): void {
  if (message_id === undefined || !content) return;
  state.pending[message_id] = { role: "assistant", content, interrupted: true };
  run.replyId = message_id;
  state.contextTokens += estimateTokens(content);
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

/** The tokens of the request and the answer together. */
function contextTokens(usage: Usage): number {
  return (
    usage.input_tokens +
    usage.output_tokens +
    (usage.cache_creation_input_tokens ?? 0) +
    (usage.cache_read_input_tokens ?? 0)
  );
}

/** Returns the ids of files that code execution made. The ids may be anywhere in the result blocks of server tools. */
function generatedFiles(content: Content): readonly string[] {
  return blocksOf(content)
    .filter(({ type }) => type.endsWith("code_execution_tool_result"))
    .flatMap((block) => fileIds(block["content"]));
}

function fileIds(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(fileIds);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "file_id" && typeof inner === "string" ? [inner] : fileIds(inner),
  );
}
