/**
 * Derives rows from a session's log for the Claude API's tables (schema `api`) and the agent tables (schema `agent`):
 * messages, the messages of each run, actions, and the data for resuming a session.
 */
import { type SessionState, contextOf, emptyState, fold } from "@skein/core";
import {
  type Await,
  DIALECTS,
  isRowOf,
  type Event,
  type Message,
  type Session,
  actionData,
  createMessageRows,
  isFactType,
  isKnownError,
  timeOf,
} from "@skein/protocol";
import type { PlatformRow } from "../tables/platform-tables.ts";

export interface LogRows {
  readonly sessionMessages: readonly PlatformRow[];
  readonly actions: readonly PlatformRow[];
  /** All messages of the session. The rows of `actions` refer to ranges of these messages. */
  readonly transcript: PlatformRow;
  /** The messages of each run, in the format of the Messages API. */
  readonly runMessages: ReadonlyMap<string, readonly PlatformRow[]>;
  /** Undefined if the log contains an event that this version of Skein does not understand. */
  readonly state: SessionState | undefined;
}

/** The number of ids that are reserved for the actions of one event. */
const ACTIONS_PER_EVENT = 8;

export function readLog(sessionId: string, events: readonly Event[]): LogRows {
  const sessionMessages: PlatformRow[] = [];
  const actions: PlatformRow[] = [];
  const messageRow = createMessageRows();
  const spans = new Map<string, { readonly from: number; to: number | undefined }>();
  let state: SessionState | undefined = emptyState(sessionId);
  for (const event of events) {
    const before = state?.transcript.length ?? 0;
    if (state && event.event_type === "session.started") spans.set(event.data.run_id, { from: before, to: undefined });
    state = state && folded(state, event);
    actions.push(...actionsOf(event, state));
    const row = messageRow(event);
    if (row) sessionMessages.push({ ...row });
    if (event.event_type !== "session.completed" && event.event_type !== "session.failed") continue;
    const span = spans.get(event.data.run_id);
    if (span && state) span.to = state.transcript.length;
  }
  const transcript = state?.transcript ?? [];
  const runMessages = new Map([...spans].map(([id, { from, to }]) => [id, transcript.slice(from, to).map(shown)]));
  const whole = { session_id: sessionId, ids: transcript.map(({ id }) => id), messages: transcript.map(shown) };
  return { sessionMessages, actions, transcript: whole, runMessages, state };
}

/** Returns the row of `agent.agent_config` with all data for resuming the session. */
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

/** Returns undefined if `fold` rejects the event, because the log may contain an event of a newer version. */
function folded(state: SessionState, event: Event): SessionState | undefined {
  try {
    fold(state, [event]);
    return state;
  } catch (error) {
    if (isKnownError(error)) return undefined;
    throw error;
  }
}

/**
 * Returns the rows of `agent.agent_runs` for one event. The row of a model call has the range of messages that the
 * model saw.
 */
function actionsOf(event: Event, state: SessionState | undefined): readonly PlatformRow[] {
  if (!isFactType(event.event_type)) return [];
  const data = event.data as Readonly<Record<string, unknown>>;
  const number = (...keys: readonly string[]): unknown =>
    keys.map((key) => data[key]).find((value) => typeof value === "number") ?? null;
  return DIALECTS[event.event_type].actions.flatMap((row, at) =>
    !isRowOf(row, data)
      ? []
      : [
          {
            log_id: event.sequence * ACTIONS_PER_EVENT + at,
            agent_uuid: event.session_id,
            run_id: data["run_id"],
            timestamp: timeOf(event),
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

/** Returns the messages of `contextOf` as a range of the transcript. */
function shownAt({ compacted, leftOut, transcript }: SessionState): PlatformRow {
  return {
    shown_first: compacted?.messages.map(shown) ?? [],
    shown_from: compacted?.until ?? 0,
    shown_until: transcript.length,
    // The array is copied, because `fold` changes the original array.
    left_out: [...leftOut],
  };
}

function shown({ role, content }: Omit<Message, "id">): PlatformRow {
  return { role, content };
}
