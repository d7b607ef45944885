import { z } from "zod";
import { SessionStatus } from "../../session.ts";

/**
 * The responses of `/api/v1`, with the Claude API's names and types. Skein adds fields for data that the Claude API
 * does not have.
 */

const Instant = z.iso.datetime();
const Tokens = z.int().nonnegative();
const Dollars = z.number().nonnegative();

/** Any JSON object. The check does not copy the object. */
const AnyObject = z
  .custom<Record<string, unknown>>((value) => typeof value === "object" && value !== null && !Array.isArray(value))
  .meta({ type: "object" });

export const UsageSchema = z.looseObject({
  input_tokens: Tokens,
  output_tokens: Tokens,
  cache_read_input_tokens: Tokens.default(0),
  cache_creation_input_tokens: Tokens.default(0),
});
export type UsageSchema = z.infer<typeof UsageSchema>;

export const ContentBlockSchema = z.looseObject({
  /**
   * A block of another type gets the most similar of these types. Its original type is in `block_type`.
   */
  type: z.enum(["text", "thinking", "tool_use", "tool_result"]),
  block_type: z.string().optional(),
  text: z.string().nullish(),
  thinking: z.string().nullish(),
  id: z.string().nullish(),
  name: z.string().nullish(),
  input: z.unknown().optional(),
  tool_use_id: z.string().nullish(),
  content: z.unknown().optional(),
  is_error: z.boolean().nullish(),
});

export const McpServerStatus = z.looseObject({
  name: z.string(),
  status: z.enum(["connected", "failed"]),
  error: z.string().nullish(),
});

export const InitEventData = z.looseObject({
  session_id: z.string(),
  model: z.string(),
  tools: z.array(z.string()),
  mcp_servers: z.array(McpServerStatus),
  plugins: z.array(z.string()),
  commands: z.array(z.string()),
});

export const MessageEventData = z.looseObject({
  type: z.enum(["user", "assistant", "system"]),
  content: z.array(ContentBlockSchema),
  model: z.string().nullish(),
  /** The id of the message. A checkpoint has the id of its user message. */
  uuid: z.string().nullish(),
  usage: UsageSchema.nullish(),
  /** Set on messages of a subagent. */
  parent_tool_use_id: z.string().nullish(),
});
export type MessageEventData = z.infer<typeof MessageEventData>;

export const ContentDeltaSchema = z.looseObject({
  type: z.enum(["text_delta", "thinking_delta", "input_json_delta"]),
  text: z.string().nullish(),
  thinking: z.string().nullish(),
  partial_json: z.string().nullish(),
});

export const PartialMessageEventData = z.looseObject({
  type: z.enum(["content_block_start", "content_block_delta", "content_block_stop"]),
  index: z.int().nonnegative(),
  content_block: ContentBlockSchema.nullish(),
  delta: ContentDeltaSchema.nullish(),
});

/** A question to the user, or a tool call that a person has to allow. */
export const QuestionEventData = z.looseObject({
  tool_use_id: z.string(),
  question: z.string(),
  session_id: z.string(),
  kind: z.enum(["question", "approval", "frontend_tool"]),
  tool_name: z.string(),
  input: z.unknown().optional(),
  /**
   * Rules that would allow similar calls in future. The person's answer may contain some of these rules as
   * `updatedPermissions`.
   */
  suggestions: z.array(AnyObject).optional(),
  /** The plan of an ExitPlanMode call. */
  plan: z.string().nullish(),
});
export type QuestionEventData = z.infer<typeof QuestionEventData>;

export const ResultEventData = z.looseObject({
  session_id: z.string(),
  is_error: z.boolean(),
  duration_ms: z.int().nonnegative(),
  num_turns: z.int().nonnegative(),
  /** The cost of this run. Null if a model has no price. */
  total_cost_usd: Dollars.nullish(),
  usage: UsageSchema.nullish(),
  /** The usage of this run, by model. */
  model_usage: z.record(z.string(), UsageSchema).nullish(),
  result: z.string().nullish(),
  /** The output in the requested `output_format`. Null if the run has no such output. */
  structured_output: z.unknown().optional(),
  is_complete: z.boolean(),
  stop_reason: z.enum(["completed", "max_turns_reached", "interrupted", "error"]),
  /** The cost of the session until the end of this run. */
  session_total_cost_usd: Dollars.nullish(),
  /** The built-in simulation answered instead of a model, so the run costs nothing. */
  simulated: z.literal(true).optional(),
});
export type ResultEventData = z.infer<typeof ResultEventData>;

export const ErrorEventData = z.object({ code: z.string(), message: z.string(), details: AnyObject.nullish() });

export const DoneEventData = z.object({ reason: z.enum(["completed", "interrupted", "error"]).default("completed") });

const event = <Name extends string, Data extends z.ZodType>(name: Name, data: Data) =>
  z.object({ event: z.literal(name), id: z.string().nullish(), data });

/** One event of a stream. */
export const StreamEvent = z.discriminatedUnion("event", [
  event("init", InitEventData),
  event("message", MessageEventData),
  event("partial", PartialMessageEventData),
  event("question", QuestionEventData),
  event("result", ResultEventData),
  event("error", ErrorEventData),
  event("done", DoneEventData),
]);
export type StreamEvent = z.infer<typeof StreamEvent>;

/** A whole run as one HTTP response. */
export const SingleResponse = z.looseObject({
  session_id: z.string(),
  model: z.string(),
  /** The content of all assistant messages of the run, without messages of subagents. */
  content: z.array(ContentBlockSchema),
  is_error: z.boolean(),
  /** False if the run was cut short or waits. `questions` lists what a waiting run waits for. */
  is_complete: z.boolean(),
  stop_reason: ResultEventData.shape.stop_reason.nullable(),
  duration_ms: z.int().nonnegative(),
  num_turns: z.int().nonnegative(),
  total_cost_usd: Dollars.nullable(),
  usage: UsageSchema.nullable(),
  result: z.string().nullable(),
  structured_output: z.unknown().optional(),
  questions: z.array(QuestionEventData),
  simulated: ResultEventData.shape.simulated,
});
export type SingleResponse = z.infer<typeof SingleResponse>;

export const SessionResponse = z.object({
  id: z.string(),
  status: z.enum(["active", "completed", "error"]),
  model: z.string(),
  created_at: Instant,
  updated_at: Instant,
  total_turns: z.int().nonnegative().meta({
    description:
      "How many runs have ended, including failed and interrupted runs. The turns inside a run are in num_turns of its result.",
  }),
  total_cost_usd: Dollars.nullable(),
  parent_session_id: z.string().nullable(),
  title: z.string().nullable(),
  tags: z.array(z.string()),
  user: z.string().nullable(),
  metadata: AnyObject,
  working_directory: z.string().nullable(),
  last_message_at: Instant.nullable(),
  usage: UsageSchema,
  /** More detailed than `status`. For example, a session that waits for a person's answer is `awaiting`. */
  activity: SessionStatus,
  /** True if the built-in simulation gave at least one answer. */
  simulated: z.boolean(),
});
export type SessionResponse = z.infer<typeof SessionResponse>;

export const SessionListResponse = z.object({
  sessions: z.array(SessionResponse),
  total: z.int().nonnegative(),
  page: z.int().positive(),
  page_size: z.int().positive(),
});

/** A row of the Claude API's session_messages. */
export const SessionMessage = z.object({
  id: z.string(),
  session_id: z.string(),
  message_type: z.enum(["user", "assistant", "system", "result"]),
  /** The data of the stream event, with the blocks of the Messages API. A failed result also has `error`. */
  content: AnyObject,
  created_at: Instant,
  /** The place in the log, which orders the rows of a session. */
  sequence: z.int().positive(),
});
export type SessionMessage = z.infer<typeof SessionMessage>;

export const SessionMessageList = z.object({
  messages: z.array(SessionMessage),
  total: z.int().nonnegative(),
  page: z.int().positive(),
  page_size: z.int().positive(),
});

export const CheckpointResponse = z.object({
  id: z.string(),
  session_id: z.string(),
  user_message_uuid: z.string(),
  created_at: Instant,
  files_modified: z.array(z.string()),
});

export const CheckpointListResponse = z.object({ checkpoints: z.array(CheckpointResponse) });

export const RewindResponse = z.object({
  /** `validated` for a dry run. */
  status: z.enum(["completed", "validated"]),
  checkpoint_id: z.string(),
  files_changed: z.array(z.string()),
  insertions: z.int().nonnegative(),
  deletions: z.int().nonnegative(),
  message: z.string(),
});

export const DependencyStatus = z.object({
  status: z.enum(["ok", "error"]),
  latency_ms: z.number().nullish(),
  error: z.string().nullish(),
});

export const HealthResponse = z.object({
  status: z.enum(["ok", "degraded", "unhealthy"]),
  version: z.string().nullish(),
  /** Dependencies by name. Callers without an API key see only failing dependencies. */
  dependencies: z.record(z.string(), DependencyStatus),
});
export type HealthResponse = z.infer<typeof HealthResponse>;
