import { type SessionState, foldAll, finalResponse } from "@skein/core";
import {
  type ActionType,
  type Await,
  type CostBreakdown,
  DIALECTS,
  type Event,
  type JsonObject,
  type Message,
  type StopReason,
  type UsageTotals,
  actionData,
} from "@skein/protocol";
import type { Host } from "./host.ts";

/** What a run came to: seed 002's AgentResult. */
export interface AgentResult {
  readonly sessionId: string;
  readonly runId: string;
  readonly finalMessage: Message | null;
  /** The text of the last answer, after its last tool block. */
  readonly finalAnswer: string;
  /** The messages of this run. */
  readonly conversationHistory: readonly Message[];
  readonly stopReason: StopReason | "awaiting_frontend_tools";
  /** What went wrong, for a run that failed. */
  readonly error: { readonly code: string; readonly message: string } | null;
  /** The calls that somebody must answer, for a run that waits. */
  readonly awaiting: readonly Await[];
  readonly model: string;
  readonly usage: UsageTotals;
  /** Of all runs of the session. */
  readonly cumulativeUsage: UsageTotals;
  readonly cost: CostBreakdown | null;
  readonly containerId: string | null;
  readonly totalSteps: number;
  readonly generatedFiles: readonly JsonObject[];
  readonly agentLogs: readonly AgentLog[];
}

/** A row of seed 002's agent_runs. */
export interface AgentLog {
  readonly timestamp: string;
  readonly stepNumber: number;
  readonly actionType: ActionType;
  readonly actionData: JsonObject;
  readonly durationMs: number | null;
}

export interface Watched {
  readonly host: Host;
  readonly sessionId: string;
  readonly runId: string;
  /** Where in the log to begin looking. */
  readonly after: number;
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: Event) => void;
}

/** Waits until a run is over, or until it waits for somebody, and says what came of it. */
export async function runOutcome(watched: Watched): Promise<AgentResult> {
  const { host, sessionId, runId } = watched;
  await runSettled(watched);
  const events = await host.sessions.events(sessionId);
  const state = foldAll(sessionId, [...events]);
  return resultOf(host, state, events, runId);
}

/** Resolves when the run has ended or waits. A signal that aborts cancels the run. */
async function runSettled({ host, sessionId, runId, after, signal, onEvent }: Watched): Promise<void> {
  const stop = new AbortController();
  const cancel = (): void =>
    void host.sessions.cancel(sessionId, { runId, reason: "The caller aborted." }).catch(() => undefined);
  signal?.addEventListener("abort", cancel, { once: true });
  if (signal?.aborted) cancel();
  try {
    for await (const event of host.sessions.follow(sessionId, { after }, stop.signal)) {
      onEvent?.(event);
      if (await isSettled(host, event, runId)) return;
    }
  } finally {
    stop.abort();
    signal?.removeEventListener("abort", cancel);
  }
}

/** Whether nothing more comes of a run for now. */
export async function isSettled(host: Host, event: Event, runId: string): Promise<boolean> {
  if (event.event_type === "session.completed" || event.event_type === "session.failed")
    return event.data.run_id === runId;
  if (event.event_type !== "await.opened" || event.data.run_id !== runId) return false;
  // A subagent answers by itself; only what needs somebody outside ends the wait here.
  const open = await host.store.awaits(event.session_id);
  return (
    open.some(({ kind }) => kind !== "subagent") && (await host.sessions.get(event.session_id)).status === "awaiting"
  );
}

async function resultOf(
  host: Host,
  state: SessionState,
  events: readonly Event[],
  runId: string,
): Promise<AgentResult> {
  const { items: runs } = await host.sessions.runs(state.sessionId, { limit: 50 });
  const run = runs.find(({ id }) => id === runId);
  const session = await host.sessions.get(state.sessionId);
  const ended = events.findLast(
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
  return {
    sessionId: state.sessionId,
    runId,
    finalMessage: history.findLast(({ role }) => role === "assistant") ?? null,
    finalAnswer: finalResponse({ ...state, transcript: history }),
    conversationHistory: history,
    stopReason: run?.stop_reason ?? "awaiting_frontend_tools",
    error: ended?.event_type === "session.failed" ? ended.data.error : null,
    awaiting: run?.outcome ? [] : await host.store.awaits(state.sessionId),
    model: run?.cost?.model_id ?? session.model,
    usage: run?.usage ?? session.usage,
    cumulativeUsage: session.usage,
    cost: run?.cost ?? null,
    containerId: session.container_id,
    totalSteps: run?.total_steps ?? 0,
    generatedFiles: run?.generated_files ?? [],
    agentLogs: logsOf(events, runId),
  };
}

/** The log of a run in seed 002's vocabulary. */
export function logsOf(events: readonly Event[], runId: string): readonly AgentLog[] {
  return events.flatMap((event) => {
    const data = event.data as JsonObject;
    if (data["run_id"] !== runId) return [];
    return DIALECTS[event.event_type].actions
      .filter(({ when }) => !when || data[when[0]] === when[1])
      .map((row) => ({
        timestamp: event.created_at,
        stepNumber: typeof data["step"] === "number" ? data["step"] : 0,
        actionType: row.action,
        actionData: actionData(row, data),
        durationMs: typeof data["duration_ms"] === "number" ? data["duration_ms"] : null,
      }));
  });
}
