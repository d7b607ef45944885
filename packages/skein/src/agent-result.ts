import {
  type Changes,
  type FileRow,
  type SeenRun,
  type SessionState,
  type Tool,
  type ToolResult,
  costBreakdown,
  emptyState,
  finalResponse,
  fold,
  isOfRun,
  modelTotals,
  project,
} from "@skein/core";
import {
  type ActionType,
  type Await,
  type CostBreakdown,
  type Event,
  type Failure,
  type JsonObject,
  type Message,
  NO_USAGE,
  type RunModel,
  type StopReason,
  type UsageTotals,
  runLogs,
} from "@skein/protocol";
import { type Watched, followRun, tell } from "./follow-run.ts";

/** The result of a run. */
export interface AgentResult<Output = unknown, Tools extends readonly Tool[] = readonly Tool[]> {
  readonly sessionId: string;
  readonly runId: string;
  readonly finalMessage: Message | null;
  /** The text of the last answer, after its last tool block. */
  readonly finalAnswer: string;
  /**
   * The final answer in the type of the agent's `output`. Null if the agent has no `output` or the run was not
   * completed.
   */
  readonly output: Output | null;
  /** The results of the run's tool calls. The result of a tool with an output schema has the type of this schema. */
  readonly toolResults: readonly ToolResult<Tools>[];
  /** The messages of this run. */
  readonly conversationHistory: readonly Message[];
  readonly stopReason: StopReason | "awaiting_frontend_tools";
  /** The failure of a failed run. */
  readonly error: Failure | null;
  /** What a waiting run waits for: questions, approvals and frontend tool calls. */
  readonly awaiting: readonly Await[];
  readonly model: string;
  readonly usage: UsageTotals;
  /** The usage of all runs of the session. */
  readonly cumulativeUsage: UsageTotals;
  readonly cost: CostBreakdown | null;
  /**
   * True if part of `usage` is estimated, because an answer broke off. The answer may have cost up to `reservedMicros`
   * more.
   */
  readonly estimated: boolean;
  readonly reservedMicros: number;
  /** True if the built-in simulation answered instead of a model. */
  readonly simulated: boolean;
  /** The usage and cost of the run by model. */
  readonly models: readonly RunModel[];
  readonly containerId: string | null;
  readonly totalSteps: number;
  readonly generatedFiles: readonly GeneratedFile[];
  readonly agentLogs: readonly AgentLog[];
}

/** A file of the run, as in `generated_files` of the table conversation_history. */
export type GeneratedFile = Omit<FileRow, "session_id" | "run_id" | "created_at"> & { readonly timestamp: string };

/** A row of the table agent_runs. */
export interface AgentLog {
  readonly timestamp: string;
  readonly stepNumber: number;
  readonly actionType: ActionType;
  readonly actionData: JsonObject;
  /** The number of messages in the context. */
  readonly messagesCount: number | null;
  readonly estimatedTokens: number | null;
  readonly durationMs: number | null;
}

/**
 * Waits until a run is over or waits for an answer, and returns its result. If the signal aborts, the run is cancelled.
 */
export async function runOutcome(watched: Watched): Promise<AgentResult> {
  const events: Event[] = [];
  const following = followRun(watched);
  for (;;) {
    const { done, value } = await following.next();
    if (done) return resultOf(watched, events, value);
    events.push(value);
    if (value.sequence > (watched.shownAfter ?? 0)) tell(watched, value);
  }
}

/** Makes the result of a run from its events. Reads only the session's totals and earlier prompts from the store. */
async function resultOf(
  watched: Watched,
  events: readonly Event[],
  { runId, ending, awaiting }: SeenRun,
): Promise<AgentResult> {
  const { host, sessionId, after } = watched;
  const state = await stateOf(watched, events, runId);
  const changes = project(events);
  const run = changes.runUpdates.find(({ id }) => id === runId);
  const ended = events.find(
    (event) =>
      (event.event_type === "session.completed" || event.event_type === "session.failed") &&
      event.data.run_id === runId,
  );
  const ids = new Set(
    events.flatMap((event) =>
      event.event_type === "message.created" && event.data.run_id === runId ? [event.data.message_id] : [],
    ),
  );
  const history = state.transcript.filter(({ id }) => ids.has(id));
  const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens } = run?.add ?? NO_USAGE;
  const usage = { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens };
  const session = after === 0 ? undefined : await host.sessions.get(sessionId);
  return {
    sessionId,
    runId,
    finalMessage: history.findLast(({ role }) => role === "assistant") ?? null,
    finalAnswer: finalResponse({ ...state, transcript: history }),
    output: null,
    toolResults: toolResultsOf(events, runId),
    conversationHistory: history,
    stopReason: stopReasonOf(ended, ending === "never-started"),
    error: ended?.event_type === "session.failed" ? ended.data.error : null,
    awaiting,
    model: run?.set.model ?? session?.model ?? state.agent?.model ?? "",
    usage,
    cumulativeUsage: session?.usage ?? state.usage,
    cost: run ? costBreakdown(run.add, run.set.model ?? "", run.set.long_context_applied ?? false) : null,
    estimated: (run?.add.estimated_calls ?? 0) > 0,
    reservedMicros: run?.set.reserved_micros ?? 0,
    simulated: (run?.add.simulated_calls ?? 0) > 0,
    models: (run?.models ?? []).map(modelTotals),
    containerId: session?.container_id ?? state.containerId,
    totalSteps: run?.set.total_steps ?? 0,
    generatedFiles: filesOf(changes, runId),
    agentLogs: logsOf(events, runId),
  };
}

/**
 * Returns the state after a run. If the log before the run's prompt was not read, leaves out events of other runs. The
 * run may have read prompts that were accepted earlier, so the store is asked for these prompts.
 */
async function stateOf(
  { host, sessionId, after }: Watched,
  events: readonly Event[],
  runId: string,
): Promise<SessionState> {
  const own = after === 0 ? events : events.filter((event) => isOutside(event) || isOfRun(event, runId));
  const accepted = new Set(own.map((event) => event.event_type === "prompt.accepted" && event.data.message_id));
  const lacks = new Set(
    own.flatMap((event) =>
      event.event_type === "message.created" &&
      event.data.transformation_type === "user_message_added" &&
      !accepted.has(event.data.message_id)
        ? [event.data.message_id]
        : [],
    ),
  );
  const earlier = lacks.size === 0 ? [] : await host.sessions.events(sessionId, { limit: after });
  const prompts = earlier.filter((event) => event.event_type === "prompt.accepted" && lacks.has(event.data.message_id));
  const log = [...prompts, ...own].map((event, index) => ({ ...event, sequence: index + 1 }));
  return fold(emptyState(sessionId), log);
}

/** Tells whether an event comes from outside a run and may be in the log during any run. */
function isOutside({ event_type }: Event): boolean {
  return event_type === "prompt.accepted" || event_type === "cancel.requested";
}

function stopReasonOf(ended: Event | undefined, neverStarted: boolean): AgentResult["stopReason"] {
  if (ended?.event_type === "session.completed" || ended?.event_type === "session.failed")
    return ended.data.stop_reason;
  return neverStarted ? "cancelled" : "awaiting_frontend_tools";
}

/** Returns the results of a run's tool calls, in the order of the calls. */
function toolResultsOf(events: readonly Event[], runId: string): readonly ToolResult[] {
  return events
    .flatMap(({ event_type, data }) => (event_type === "tool.completed" && data.run_id === runId ? [data] : []))
    .toSorted((one, other) => one.step - other.step || one.part - other.part)
    .map(({ tool_use_id: toolUseId, name, input, content, is_error: isError, output }) => ({
      name,
      toolUseId,
      input,
      content,
      ...(isError ? { isError } : { isError, output }),
    }));
}

function filesOf({ fileInserts }: Changes, runId: string): readonly GeneratedFile[] {
  return fileInserts
    .filter(({ run_id }) => run_id === runId)
    .map(({ session_id: _session, run_id: _run, created_at: timestamp, ...file }) => ({ ...file, timestamp }));
}

/** Returns the log of a run as rows of agent_runs. */
export function logsOf(events: readonly Event[], runId: string): readonly AgentLog[] {
  return runLogs(events, runId).map((row) => ({
    timestamp: row.timestamp,
    stepNumber: row.step_number,
    actionType: row.action_type,
    actionData: row.action_data,
    messagesCount: row.messages_count,
    estimatedTokens: row.estimated_tokens,
    durationMs: row.duration_ms,
  }));
}
