import { z } from "zod";
import { Line, Tags } from "./agent.ts";
import { Content, JsonObject } from "./content.ts";
import { Uuid } from "./ids.ts";
import { CostBreakdown, CostTotals, UsageTotals } from "./usage.ts";

const Instant = z.iso.datetime();

/** The current state of a session. How the last run ended is in `outcome`. */
export const SessionStatus = z.enum(["idle", "running", "awaiting"]);
export type SessionStatus = z.infer<typeof SessionStatus>;

/** How a run ended. */
export const Outcome = z.enum(["completed", "failed", "cancelled"]);
export type Outcome = z.infer<typeof Outcome>;

export const StopReason = z.enum([
  "end_turn",
  "max_tokens",
  "max_steps",
  "stop_sequence",
  "refusal",
  "context_window_exceeded",
  "budget",
  "error",
  "poisoned",
  "cancelled",
]);
export type StopReason = z.infer<typeof StopReason>;

/** A session in a list. All fields are derived from the log. */
export const Session = z.object({
  id: Uuid,
  tenant: z.string(),
  agent_id: Uuid,
  agent_version: z.int().positive(),
  title: Line.nullable(),
  tags: Tags,
  model: z.string(),
  model_id: Uuid.nullable(),
  working_directory: z.string().nullable(),
  metadata: JsonObject,
  status: SessionStatus,
  outcome: Outcome.nullable(),
  run_id: Uuid.nullable(),
  current_step: z.int().nonnegative(),
  container_id: z.string().nullable(),
  created_at: Instant,
  updated_at: Instant,
  started_at: Instant.nullable(),
  finished_at: Instant.nullable(),
  last_run_at: Instant.nullable(),
  parent_session_id: Uuid.nullable(),
  forked_from_sequence: z.int().positive().nullable(),
  subagent_of_session_id: Uuid.nullable(),
  subagent_of_tool_use_id: z.string().nullable(),
  /** The name of the API key that opened the session. Null if no key was used. */
  opened_by: z.string().nullable(),
  total_runs: z.int().nonnegative(),
  total_turns: z.int().nonnegative(),
  ...CostTotals,
  /**
   * The highest amount that interrupted calls may have cost beyond their known cost. It counts against budgets until
   * `reserved_until`.
   */
  reserved_micros: z.int().nonnegative(),
  /** The latest end of the reservation. An answer of the model ends it earlier. Null if nothing is reserved. */
  reserved_until: Instant.nullable(),
  usage: UsageTotals,
  /** True if a tool call of the session may or may not have taken effect. */
  has_unknown_effect: z.boolean(),
  last_known_input_tokens: z.int().nonnegative(),
  last_known_output_tokens: z.int().nonnegative(),
});
export type Session = z.infer<typeof Session>;

/**
 * The totals of one model in a run. A run may use several models, for example for a title or a subagent.
 */
export const RunModel = z.object({
  model: z.string(),
  ...UsageTotals.shape,
  ...CostTotals,
});
export type RunModel = z.infer<typeof RunModel>;

/** A run, which is a row of conversation_history in the agent tables. */
export const Run = z.object({
  id: Uuid,
  session_id: Uuid,
  /** The number of the run in its session, from 1. */
  number: z.int().positive(),
  started_at: Instant,
  completed_at: Instant.nullable(),
  outcome: Outcome.nullable(),
  stop_reason: StopReason.nullable(),
  user_message: z.string(),
  final_response: z.string().nullable(),
  total_steps: z.int().nonnegative(),
  usage: UsageTotals,
  cost: CostBreakdown.nullable(),
  ...CostTotals,
  /**
   * The highest amount that interrupted calls of the run may have cost beyond their known cost. No total includes it.
   */
  reserved_micros: z.int().nonnegative(),
  /** The totals by model, in the order of the models' names. */
  models: z.array(RunModel),
  generated_files: z.array(JsonObject),
  first_sequence: z.int().positive(),
  last_sequence: z.int().positive().nullable(),
});
export type Run = z.infer<typeof Run>;

/** A message of the transcript, with the blocks of the Messages API. */
export const Message = z.object({
  id: Uuid,
  role: z.enum(["user", "assistant", "system"]),
  content: Content,
  /** Set if the model's answer broke off. The message has the received text. */
  interrupted: z.literal(true).optional(),
});
export type Message = z.infer<typeof Message>;

/**
 * A row of the platform API's messages. Every tool call and every result is a separate row. Rows are numbered from 1 in
 * the order of the transcript.
 */
export const MessageRow = z.object({
  id: Uuid,
  session_id: Uuid,
  sequence: z.int().positive(),
  role: z.enum(["user", "assistant", "tool_call", "tool_result", "system"]),
  content: JsonObject,
  tool_call_id: z.string().nullable(),
  created_at: Instant,
});
export type MessageRow = z.infer<typeof MessageRow>;

/**
 * An await: a tool call that waits for a person, the client or a subagent. The id of the tool call identifies the
 * await.
 */
export const Await = z.object({
  session_id: Uuid,
  run_id: Uuid,
  tool_use_id: z.string(),
  kind: z.enum(["frontend_tool", "question", "approval", "subagent"]),
  name: z.string(),
  input: z.unknown(),
  expires_at: Instant.nullable(),
  opened_at: Instant,
  closed_at: Instant.nullable(),
  resolution: z.enum(["answered", "timed_out", "cancelled"]).nullable(),
});
export type Await = z.infer<typeof Await>;

/** The files as they were at one user message. A session has at most one checkpoint for each user message. */
export const Checkpoint = z.object({
  id: Uuid,
  session_id: Uuid,
  user_message_uuid: Line.min(1).max(100),
  files_modified: z.array(z.string().startsWith("/", "Expected an absolute path.")),
  created_at: Instant,
});
export type Checkpoint = z.infer<typeof Checkpoint>;
