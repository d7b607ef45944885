import { timeOf } from "../event-time.ts";
import { type Event, type FactType, isFactType } from "../event.ts";

/** Every action type of the agent tables, and the two that the authors of the agent tables added for frontend tools. */
export const ACTION_TYPES = [
  "run_started",
  "run_completed",
  "run_failed",
  "max_steps_reached",
  "memory_retrieval",
  "memory_update",
  "memory_before_compact",
  "memory_after_compact",
  "compaction",
  "context_transformation",
  "api_call_started",
  "api_response_received",
  "api_retry",
  "api_error",
  "tool_execution",
  "tool_error",
  "final_answer_validation",
  "final_answer_validation_failed",
  "file_generated",
  "file_downloaded",
  "file_stored",
  "file_error",
  "final_summary_generation",
  "error",
  "awaiting_frontend_tools",
  "frontend_tools_completed",
] as const;
export type ActionType = (typeof ACTION_TYPES)[number];

/**
 * Describes how a row of agent_runs is made from the data of a fact, which is what an event records. SQL views and
 * documents are generated from this description.
 */
export interface ActionRow {
  readonly action: ActionType;
  /** The row exists only if this key of the data has this value. */
  readonly when?: readonly [key: string, value: string | boolean];
  /** The row does not exist if this key of the data has this value. */
  readonly unless?: readonly [key: string, value: string | boolean];
  /** Maps keys of `action_data` to keys of the fact's data. `!key` negates the value, and `=text` is a constant. */
  readonly data: Readonly<Record<string, string>>;
}

interface Dialect {
  /** The rows of agent_runs in the agent tables. */
  readonly actions: readonly ActionRow[];
}

const same = (...keys: readonly string[]): Record<string, string> => Object.fromEntries(keys.map((key) => [key, key]));
const failure = (when?: ActionRow["when"]): ActionRow => ({
  action: "error",
  ...(when && { when }),
  data: { error: "error" },
});
/**
 * Selects model calls for steps, and leaves out calls for a title or a summary.
 */
const STEP = ["purpose", "step"] as const;
const sent = same("model", "max_tokens", "thinking_tokens", "tools_count");
const reply = same("stop_reason", "usage", "content");
const none: Dialect = { actions: [] };

/**
 * Lists for each fact its names in the agent tables. The platform API uses the name of the fact. `createFraming` makes
 * the frames of the Claude API, because most of them depend on earlier facts.
 *
 * `streaming_chunk` of the agent tables and `partial` of the Claude API are drafts: parts of a model's answer that are
 * streamed while the model writes it, and never stored.
 */
export const DIALECTS: Readonly<Record<FactType, Dialect>> = {
  "session.created": none,
  "session.edited": none,
  "message.copied": none,
  "prompt.accepted": none,
  "cancel.requested": none,
  "session.started": {
    actions: [
      { action: "run_started", data: { ...same("user_message"), queue_present: "=true", formatter: "formatter" } },
    ],
  },
  "run.resumed": none,
  "message.created": {
    actions: [
      {
        action: "context_transformation",
        data: same(
          "transformation_type",
          "messages_before_count",
          "messages_after_count",
          "tokens_before",
          "tokens_after",
        ),
      },
    ],
  },
  "title.generated": none,
  "steps.exhausted": { actions: [{ action: "max_steps_reached", data: same("max_steps") }] },
  "session.completed": {
    actions: [
      {
        action: "run_completed",
        data: {
          ...same("stop_reason", "final_response", "files_generated"),
          total_steps: "step",
          total_input_tokens: "usage.input_tokens",
          total_output_tokens: "usage.output_tokens",
        },
      },
    ],
  },
  "session.failed": {
    actions: [
      { action: "run_failed", data: { ...same("stop_reason", "outcome", "error"), total_steps: "step" } },
      failure(["outcome", "failed"]),
    ],
  },
  "runtime.started": none,
  "runtime.noticed": none,
  "subagent.messaged": none,
  "hook.called": none,
  "transcript.appended": none,
  "checkpoint.created": none,
  "rewind.requested": none,
  "rewind.completed": none,
  "control.requested": none,
  "step.started": {
    actions: [
      { action: "api_call_started", when: STEP, data: sent },
      { action: "api_call_started", unless: STEP, data: { ...sent, ...same("purpose") } },
    ],
  },
  "step.generated": {
    actions: [
      { action: "api_response_received", when: STEP, data: reply },
      { action: "api_response_received", unless: STEP, data: { ...reply, ...same("purpose") } },
      { action: "final_summary_generation", when: ["purpose", "summary"], data: same("stop_reason", "usage") },
    ],
  },
  "step.retried": { actions: [{ action: "api_retry", data: same("attempt", "error", "delay_ms") }] },
  "step.error": { actions: [{ action: "api_error", data: same("error") }, failure()] },
  "step.abandoned": {
    actions: [
      // A cancelled call is not an error. Its text becomes an interrupted answer.
      { action: "api_error", unless: ["reason", "cancelled"], data: same("model", "usage", "reason") },
      {
        action: "api_response_received",
        when: ["interrupted", true],
        data: { ...same("model", "usage", "content"), stop_reason: "=interrupted" },
      },
    ],
  },
  "tool.started": none,
  "tool.completed": {
    actions: [
      {
        action: "tool_execution",
        data: {
          tool_name: "name",
          ...same("tool_use_id", "input"),
          result: "content",
          success: "!is_error",
          execution_time_ms: "duration_ms",
        },
      },
      {
        action: "tool_error",
        when: ["is_error", true],
        data: { tool_name: "name", tool_use_id: "tool_use_id", outcome: "outcome", error: "content" },
      },
      {
        action: "error",
        when: ["is_error", true],
        data: { tool_name: "name", tool_use_id: "tool_use_id", error: "content" },
      },
    ],
  },
  "await.opened": {
    actions: [{ action: "awaiting_frontend_tools", data: { pending_frontend_tools: "awaits" } }],
  },
  "await.answered": none,
  "await.resolved": {
    actions: [{ action: "frontend_tools_completed", data: same("tool_use_id", "resolution", "waited_ms") }],
  },
  "parent.informed": none,
  "answer.validated": {
    actions: [
      { action: "final_answer_validation", data: same("passed", "reason") },
      { action: "final_answer_validation_failed", when: ["passed", false], data: same("reason") },
    ],
  },
  "transcript.repaired": {
    actions: [
      { action: "context_transformation", data: { transformation_type: "=transcript_repaired", repairs: "repairs" } },
    ],
  },
  "memory.retrieved": {
    actions: [
      { action: "memory_retrieval", data: same("memories_found", "memories_injected", "memory_store_type") },
      failure(["failed", true]),
    ],
  },
  "memory.updated": {
    actions: [
      { action: "memory_update", data: same("memories_written", "memory_store_type") },
      failure(["failed", true]),
    ],
  },
  "memory.saved": {
    actions: [
      { action: "memory_before_compact", data: same("memory_store_type", "details") },
      failure(["failed", true]),
    ],
  },
  "memory.restored": {
    actions: [
      { action: "memory_after_compact", data: same("memory_store_type", "details") },
      failure(["failed", true]),
    ],
  },
  "compaction.checked": {
    actions: [
      {
        action: "compaction",
        data: {
          compaction_applied: "applied",
          ...same("reason", "current_tokens", "threshold", "tokens_after", "compactor_type"),
        },
      },
      {
        action: "context_transformation",
        when: ["applied", true],
        data: { transformation_type: "=compaction", tokens_before: "current_tokens", tokens_after: "tokens_after" },
      },
    ],
  },
  "file.generated": { actions: [{ action: "file_generated", data: same("file_id", "filename") }] },
  "file.downloaded": {
    actions: [{ action: "file_downloaded", data: same("file_id", "filename", "size") }],
  },
  "file.stored": {
    actions: [{ action: "file_stored", data: same("file_id", "filename", "storage_path", "size", "mime_type") }],
  },
  "file.failed": {
    actions: [{ action: "file_error", data: same("file_id", "filename", "error") }, failure()],
  },
};

/** A row of agent_runs, without the columns that identify its session. */
export interface ActionLog {
  readonly timestamp: string;
  readonly step_number: number;
  readonly action_type: ActionType;
  readonly action_data: Record<string, unknown>;
  /** The number of messages in the context of the model call. */
  readonly messages_count: number | null;
  readonly estimated_tokens: number | null;
  readonly duration_ms: number | null;
}

/** Tells whether a fact with this data makes this row. */
export function isRowOf({ when, unless }: ActionRow, data: Readonly<Record<string, unknown>>): boolean {
  return (!when || data[when[0]] === when[1]) && (!unless || data[unless[0]] !== unless[1]);
}

/** Returns the rows of agent_runs for a fact. A fact of an unknown newer type has no rows. */
export function actionLogs(event: Event): readonly ActionLog[] {
  if (!isFactType(event.event_type)) return [];
  const data = event.data as Readonly<Record<string, unknown>>;
  return DIALECTS[event.event_type].actions
    .filter((row) => isRowOf(row, data))
    .map((row) => ({
      timestamp: timeOf(event),
      step_number: firstNumber(data, "step") ?? 0,
      action_type: row.action,
      action_data: actionData(row, data),
      messages_count: firstNumber(data, "messages_count", "messages_after_count"),
      estimated_tokens: firstNumber(data, "estimated_tokens", "tokens_after"),
      duration_ms: firstNumber(data, "duration_ms", "waited_ms"),
    }));
}

/** Returns the rows of agent_runs for one run, in the order of the log. */
export function runLogs(events: readonly Event[], runId: string): readonly ActionLog[] {
  return events.filter(({ data }) => "run_id" in data && data.run_id === runId).flatMap(actionLogs);
}

/** Returns the first value that is a number. */
function firstNumber(data: Readonly<Record<string, unknown>>, ...keys: readonly string[]): number | null {
  const key = keys.find((name) => typeof data[name] === "number");
  return key === undefined ? null : (data[key] as number);
}

/** Returns the column `action_data` of a fact's row. */
export function actionData(row: ActionRow, data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const key in row.data) shown[key] = picked(row.data[key] ?? "", data);
  return shown;
}

function picked(pick: string, data: Readonly<Record<string, unknown>>): unknown {
  if (pick.startsWith("=")) return pick === "=true" ? true : pick.slice(1);
  if (pick.startsWith("!")) return data[pick.slice(1)] !== true;
  const dot = pick.indexOf(".");
  if (dot === -1) return data[pick] ?? null;
  return (data[pick.slice(0, dot)] as Record<string, unknown> | undefined)?.[pick.slice(dot + 1)] ?? null;
}
