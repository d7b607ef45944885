/**
 * What the tables of seeds 000 and 002 show of a log: the transcript, the stretch of it that belongs to a run, the
 * actions, and what is needed to resume.
 */
import { type SessionState, contextOf, emptyState, fold } from "@skein/core";
import {
  type Await,
  DIALECTS,
  type Event,
  type Message,
  type Session,
  actionData,
  isFactType,
  isKnownError,
} from "@skein/protocol";
import type { PlatformRow } from "../tables/platform-tables.ts";

export interface LogRows {
  readonly sessionMessages: readonly PlatformRow[];
  readonly actions: readonly PlatformRow[];
  /** Every message of the session, once: what the model was shown at some step is a stretch of it. */
  readonly transcript: PlatformRow;
  /** The messages of each run, as the Messages API has them. */
  readonly runMessages: ReadonlyMap<string, readonly PlatformRow[]>;
  /** Undefined if the log holds something that this Skein does not understand. */
  readonly state: SessionState | undefined;
}

/** Actions of one fact are told apart by as many numbers. */
const ACTIONS_PER_EVENT = 8;

export function readLog(sessionId: string, events: readonly Event[]): LogRows {
  const sessionMessages: PlatformRow[] = [];
  const actions: PlatformRow[] = [];
  const spans = new Map<string, { readonly from: number; to: number | undefined }>();
  let state: SessionState | undefined = emptyState(sessionId);
  for (const event of events) {
    const before = state?.transcript.length ?? 0;
    if (state && event.event_type === "session.started") spans.set(event.data.run_id, { from: before, to: undefined });
    state = state && folded(state, event);
    actions.push(...actionsOf(event, state));
    for (const message of state?.transcript.slice(before) ?? [])
      sessionMessages.push({
        id: message.id,
        session_id: sessionId,
        message_type: message.role,
        content: shown(message),
        created_at: event.created_at,
      });
    sessionMessages.push(...besides(event));
    if (event.event_type !== "session.completed" && event.event_type !== "session.failed") continue;
    sessionMessages.push(resultOf(event));
    const span = spans.get(event.data.run_id);
    if (span && state) span.to = state.transcript.length;
  }
  const transcript = state?.transcript ?? [];
  const runMessages = new Map([...spans].map(([id, { from, to }]) => [id, transcript.slice(from, to).map(shown)]));
  const whole = { session_id: sessionId, ids: transcript.map(({ id }) => id), messages: transcript.map(shown) };
  return { sessionMessages, actions, transcript: whole, runMessages, state };
}

/** Seed 002's `agent_config`: everything that is needed to resume. */
export function configOf(session: Session, { state, runMessages }: LogRows, awaits: readonly Await[]): PlatformRow {
  const { agent, run } = state ?? {};
  const pending = awaits
    .filter(({ kind }) => kind === "frontend_tool")
    .map(({ tool_use_id, name, input }) => ({ tool_use_id, name, input }));
  const isAwaiting = session.status === "awaiting" && pending.length > 0;
  const done = isAwaiting ? (run?.calls.filter(({ phase }) => phase === "done") ?? []) : [];
  return {
    ...agent,
    ...session,
    agent_uuid: session.id,
    messages: state ? contextOf(state).map(shown) : [],
    tool_names: agent?.tool_schemas.map(({ name }) => name) ?? [],
    file_registry: state?.files ?? {},
    pending_frontend_tools: pending,
    pending_backend_results: done.map(({ toolUseId, result }) => ({
      type: "tool_result",
      tool_use_id: toolUseId,
      content: result?.content ?? "",
      ...(result?.isError === true && { is_error: true }),
    })),
    awaiting_frontend_tools: isAwaiting,
    conversation_history: (isAwaiting && run && runMessages.get(run.runId)) || [],
  };
}

/** The log takes what fold refuses (a newer fact, a broken pair). */
function folded(state: SessionState, event: Event): SessionState | undefined {
  try {
    fold(state, [event]);
    return state;
  } catch (error) {
    if (isKnownError(error)) return undefined;
    throw error;
  }
}

/** Seed 002's actions of a fact, with where in the transcript that stands which the model was shown. */
function actionsOf(event: Event, state: SessionState | undefined): readonly PlatformRow[] {
  if (!isFactType(event.event_type)) return [];
  const data = event.data as Readonly<Record<string, unknown>>;
  const number = (...keys: readonly string[]): unknown =>
    keys.map((key) => data[key]).find((value) => typeof value === "number") ?? null;
  return DIALECTS[event.event_type].actions.flatMap((row, at) =>
    row.when && data[row.when[0]] !== row.when[1]
      ? []
      : [
          {
            log_id: event.sequence * ACTIONS_PER_EVENT + at,
            agent_uuid: event.session_id,
            run_id: data["run_id"],
            timestamp: event.created_at,
            step_number: number("step") ?? 0,
            action_type: row.action,
            action_data: actionData(row, data),
            messages_count: number("messages_count", "messages_after_count"),
            estimated_tokens: number("estimated_tokens", "tokens_after"),
            duration_ms: number("duration_ms", "waited_ms"),
            ...(row.action === "api_call_started" && state && shownAt(state)),
          },
        ],
  );
}

/** `contextOf`, as places in the transcript. */
function shownAt({ compacted, leftOut, transcript }: SessionState): PlatformRow {
  return {
    shown_first: compacted?.messages.map(shown) ?? [],
    shown_from: compacted?.until ?? 0,
    shown_until: transcript.length,
    // A copy: the fold goes on with its own.
    left_out: [...leftOut],
  };
}

/** What Claude Code said besides: how it came up, its notices, and what its subagents and it said to each other. */
function besides(event: Event): readonly PlatformRow[] {
  const { id, session_id, created_at } = event;
  const row = (message_type: string, content: unknown, messageId = id): readonly PlatformRow[] => [
    { id: messageId, session_id, message_type, content, created_at },
  ];
  switch (event.event_type) {
    case "runtime.started":
      return row("system", { ...event.data.info, subtype: "init" });
    case "runtime.noticed": {
      const { notice, subtype, message_id } = event.data;
      return row("system", { ...notice, subtype }, message_id);
    }
    case "subagent.messaged": {
      const { role, content, model, parent_tool_use_id, message_id } = event.data;
      return row(role, { role, content, model, parent_tool_use_id }, message_id);
    }
    default:
      return [];
  }
}

/** Seed 000's message at the end of a turn. */
function resultOf(event: Extract<Event, { event_type: "session.completed" | "session.failed" }>): PlatformRow {
  const data = event.data as Readonly<Record<string, unknown>>;
  const error = data["error"] as { readonly message?: string } | undefined;
  const own = data["result"] as Readonly<Record<string, unknown>> | undefined;
  const isFailed = event.event_type === "session.failed";
  return {
    id: event.id,
    session_id: event.session_id,
    message_type: "result",
    content: {
      subtype: own?.["subtype"] ?? (isFailed ? data["stop_reason"] : "success"),
      stop_reason: data["stop_reason"] ?? null,
      error: error ?? null,
      structured_output: own?.["structured_output"] ?? null,
      is_error: isFailed,
      result: data["final_response"] ?? error?.message ?? null,
      num_turns: data["step"] ?? null,
      duration_ms: data["duration_ms"] ?? null,
      usage: data["usage"] ?? null,
      total_cost_usd: data["unpriced_calls"] === 0 ? Number(data["cost_micros"]) / 1_000_000 : null,
    },
    created_at: event.created_at,
  };
}

function shown({ role, content }: Omit<Message, "id">): PlatformRow {
  return { role, content };
}
