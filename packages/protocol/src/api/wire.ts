import { z } from "zod";
import { Line, LlmModel, NewAgentConfig, Tags, ToolSchema } from "../agent.ts";
import { ACTION_TYPES } from "../dialects.ts";
import { ContentBlock } from "../content.ts";
import { Uuid } from "../ids.ts";
import { Outcome, Run, Session, SessionStatus } from "../session.ts";
import { UsageTotals } from "../usage.ts";

const Instant = z.iso.datetime();
const Count = z.int().nonnegative();

/** Any JSON object. Looked at and not copied: a log has large ones. */
export const AnyObject = z
  .custom<Record<string, unknown>>((value) => typeof value === "object" && value !== null && !Array.isArray(value))
  .meta({ type: "object" });
/** Any JSON value. */
const AnyValue = z.unknown();

/** A page of a list. Ask again with `next_cursor`; null at the end. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), next_cursor: z.string().nullable() });
}

export const PageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).optional(),
  cursor: z.string().min(1).max(500).optional(),
});

/** What an agent is made of, on the wire: seed 004's columns, the configuration beside them, code tools by name. */
export const AgentInput = z
  .strictObject({
    ...NewAgentConfig.shape,
    model: NewAgentConfig.shape.model.optional(),
    /** A model of the list; its name becomes the agent's model. */
    default_model_id: Uuid.nullable().default(null),
    tags: Tags.default([]),
    /** Tools that the server's own code has, by name. */
    tools: z.array(z.string().min(1).max(128)).max(200).default([]),
    /** Tools that the caller runs itself: a run that uses one waits for the result. */
    frontend_tools: z.array(ToolSchema).max(50).default([]),
  })
  .omit({ tool_schemas: true });
export type AgentInput = z.output<typeof AgentInput>;

/** What a patch may change of the configuration, without the defaults that would undo what it leaves out. */
const { shape } = NewAgentConfig;
const changeable = {
  description: shape.description.unwrap(),
  system_prompt: shape.system_prompt.unwrap(),
  max_steps: shape.max_steps.unwrap(),
  thinking_tokens: shape.thinking_tokens.unwrap(),
  max_tokens: shape.max_tokens.unwrap(),
  server_tools: shape.server_tools.unwrap(),
  beta_headers: shape.beta_headers.unwrap(),
  api_kwargs: shape.api_kwargs.unwrap(),
  formatter: shape.formatter.unwrap(),
  stream_meta_history_and_tool_results: shape.stream_meta_history_and_tool_results.unwrap(),
  compactor_type: shape.compactor_type.unwrap(),
  memory_store_type: shape.memory_store_type.unwrap(),
  max_retries: shape.max_retries.unwrap(),
  base_delay: shape.base_delay.unwrap(),
  generate_title: shape.generate_title.unwrap(),
  max_parallel_tool_calls: shape.max_parallel_tool_calls.unwrap(),
  compaction_threshold: shape.compaction_threshold.unwrap(),
  max_cost_micros: shape.max_cost_micros.unwrap(),
  extras: shape.extras.unwrap(),
};

/** A change of an agent: what is left out stays as it is. Its runtime is what it was made with. */
export const AgentPatch = z
  .strictObject({
    ...changeable,
    name: shape.name,
    model: shape.model,
    default_model_id: Uuid.nullable(),
    tags: Tags,
    tools: z.array(z.string().min(1).max(128)).max(200),
    frontend_tools: z.array(ToolSchema).max(50),
  })
  .partial();
export type AgentPatch = z.output<typeof AgentPatch>;

export const ModelInput = z.strictObject({ name: LlmModel.shape.name, is_default: z.boolean().default(false) });

/** A session in seed 004's fields and words, and what Skein knows beside them. */
export const ApiSession = z.object({
  id: Uuid,
  agent_id: Uuid,
  agent_version: z.int().positive(),
  title: z.string().nullable(),
  tags: z.array(z.string()),
  model_id: Uuid.nullable(),
  status: z.enum(["pending", "running", "completed", "failed"]),
  created_at: Instant,
  started_at: Instant.nullable(),
  finished_at: Instant.nullable(),
  /** Finer than `status`: a session that waits for somebody is `awaiting`. */
  activity: SessionStatus,
  /** How the last run ended. */
  outcome: Outcome.nullable(),
  /** The run that is under way. */
  run_id: Uuid.nullable(),
  model: z.string(),
  metadata: AnyObject,
  updated_at: Instant,
  parent_session_id: Uuid.nullable(),
  forked_from_sequence: z.int().positive().nullable(),
  /** For a session that works for another one: whose, and which of its calls is waiting for it. */
  subagent_of_session_id: Uuid.nullable(),
  subagent_of_tool_use_id: z.string().nullable(),
  total_runs: Count,
  usage: UsageTotals,
  cost_micros: Count,
  unpriced_calls: Count,
});
export type ApiSession = z.infer<typeof ApiSession>;

export const SessionInput = z.strictObject({
  title: Line.max(255).nullable().default(null),
  tags: Tags.default([]),
  model_id: Uuid.nullable().default(null),
  metadata: z.record(z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/), z.unknown()).default({}),
});

export const SessionPatch = z.strictObject({
  title: Line.max(255).nullable().optional(),
  tags: Tags.optional(),
  model_id: Uuid.nullable().optional(),
});

export const SessionQueryInput = z.strictObject({
  ...PageQuery.shape,
  agent_id: Uuid.optional(),
  status: ApiSession.shape.status.optional(),
  tag: z.string().min(1).max(100).optional(),
  /** Forks of this session. */
  parent_session_id: Uuid.optional(),
  /** Sessions that work for this one. */
  subagent_of_session_id: Uuid.optional(),
});

/** What a user says: seed 004's `{"text": …}`, or blocks as the Messages API has them. */
const UserContent = z.union([z.strictObject({ text: z.string().min(1) }), z.array(ContentBlock).min(1).max(1000)], {
  error: 'Expected {"text": "…"} or a list of content blocks.',
});

export const MessageInput = z.strictObject({
  role: z.literal("user", "Only user messages can be posted: the others are made by runs."),
  content: UserContent,
  /** A model of the list for this message alone. */
  model_id: Uuid.nullable().default(null),
  /** While a run is under way: wait for its end, be read before its next step, or take its place. */
  mode: z.enum(["queue", "steer", "interrupt"]).default("queue"),
  max_cost_micros: Count.nullable().default(null),
});

/** A message that is durable. Its place among the messages is known when its run begins. */
export const AcceptedMessage = z.object({
  message: z.object({
    id: Uuid,
    session_id: Uuid,
    sequence: z.int().positive().nullable(),
    role: z.literal("user"),
    content: AnyObject,
    tool_call_id: z.null(),
    created_at: Instant,
  }),
  run_id: Uuid,
  /** Where the acceptance stands in the log: `?after=` this shows what comes of it. */
  event_sequence: z.int().positive(),
});
export type AcceptedMessage = z.infer<typeof AcceptedMessage>;

/** A message of the transcript with its blocks, as the model sees it. */
export const BlockMessage = z.object({
  id: Uuid,
  role: z.enum(["user", "assistant", "system"]),
  content: z.union([z.string(), z.array(AnyObject)]),
});

/** A row of seed 004's messages. */
export const ApiMessage = z.object({
  id: Uuid,
  session_id: Uuid,
  sequence: z.int().positive(),
  role: z.enum(["user", "assistant", "tool_call", "tool_result", "system"]),
  content: AnyObject,
  tool_call_id: z.string().nullable(),
  created_at: Instant,
});

/** An event: seed 004's six keys. */
export const ApiEvent = z.object({
  id: Uuid,
  session_id: Uuid,
  sequence: z.int().positive(),
  event_type: z.string(),
  data: AnyObject,
  created_at: Instant,
});

/** A run with the fields of seed 002's conversation_history. */
export const ApiRun = z.object({
  ...Run.shape,
  /** Queued: its prompt waits for the run before it. Whether a running one waits for somebody, its session says. */
  status: z.enum(["queued", "running", ...Outcome.options]),
  generated_files: z.array(AnyObject),
  /** A conversation is a run, and has its id. */
  conversation_id: Uuid,
  run_id: Uuid,
  /** The session. */
  agent_uuid: Uuid,
  /** Counts the session's runs from 1. */
  sequence_number: z.int().positive(),
  extras: AnyObject,
  created_at: Instant,
});

/** One run, with what was said in it. */
export const ApiRunWithMessages = ApiRun.extend({
  /** Null while it is queued, or if it was cancelled before it began. */
  started_at: Instant.nullable(),
  /** Null if it never began. */
  number: ApiRun.shape.number.nullable(),
  sequence_number: ApiRun.shape.sequence_number.nullable(),
  messages: z.array(z.object({ role: z.string(), content: z.union([z.string(), z.array(AnyObject)]) })),
});

/** A row of seed 002's agent_runs. */
export const RunLog = z.object({
  /** Counts the lines of the run, from 1. */
  log_id: z.int().positive(),
  /** The session. */
  agent_uuid: Uuid,
  run_id: Uuid,
  timestamp: Instant,
  step_number: Count,
  action_type: z.enum(ACTION_TYPES),
  action_data: AnyObject,
  messages_count: Count.nullable(),
  estimated_tokens: Count.nullable(),
  duration_ms: Count.nullable(),
});

/** What the model was sent for one call. */
export const SentRequest = z.object({
  run_id: Uuid,
  step: Count,
  attempt: z.int().positive(),
  purpose: z.string(),
  sequence: z.int().positive(),
  betas: z.array(z.string()),
  body: AnyObject,
});

export const ApiAwait = z.object({
  session_id: Uuid,
  run_id: Uuid,
  tool_use_id: z.string(),
  kind: z.enum(["frontend_tool", "question", "approval", "subagent"]),
  name: z.string(),
  input: AnyValue,
  opened_at: Instant,
  expires_at: Instant.nullable(),
});

export const AnswerInput = z.strictObject({
  content: z.union([z.string(), z.array(ContentBlock).max(1000)], {
    error: "Expected text or a list of content blocks.",
  }),
  is_error: z.boolean().default(false),
});

/** What became of an answer. `refused` is an error instead. */
export const ApiAnswered = z.object({
  session_id: Uuid,
  tool_use_id: z.string(),
  disposition: z.enum(["accepted", "duplicate", "stale"]),
  reason: z.string(),
  event_sequence: z.int().positive().nullable(),
});

/** What one tool call did, or that nobody knows. */
export const Effect = z.object({
  tool_use_id: z.string(),
  run_id: Uuid,
  step: Count,
  name: z.string(),
  input: AnyValue,
  policy: z.enum(["once", "repeatable"]).nullable(),
  outcome: z.enum(["running", "committed", "failed", "unknown"]),
  started_at: Instant.nullable(),
  completed_at: Instant.nullable(),
  duration_ms: Count.nullable(),
});
export type Effect = z.infer<typeof Effect>;

export const ApiFile = z.object({
  file_id: z.string(),
  filename: z.string(),
  size: Count,
  mime_type: z.string(),
  created_in_run: Uuid,
  last_updated_at: Instant,
});

export const UsageQuery = z.strictObject({
  group_by: z.enum(["day", "model", "agent", "session"]).default("day"),
  from: Instant.optional(),
  to: Instant.optional(),
  agent_id: Uuid.optional(),
});

export const UsageRow = z.object({
  /** The day (UTC), the model's name, or the id of the agent or session. */
  key: z.string(),
  runs: Count,
  ...UsageTotals.shape,
  cost_micros: Count,
  unpriced_calls: Count,
});
export type UsageRow = z.infer<typeof UsageRow>;

/** What a webhook can be told about. */
export const WebhookEvent = z.enum([
  "session.created",
  "session.started",
  "session.completed",
  "session.failed",
  "session.edited",
  "await.opened",
]);

export const WebhookInput = z.strictObject({
  url: z.string().min(1).max(2000),
  events: z
    .array(WebhookEvent)
    .min(1)
    .default(["session.started", "session.completed", "session.failed", "await.opened"]),
});

/** A place that is told about sessions and runs. */
export const Webhook = z.object({
  id: Uuid,
  url: z.string(),
  events: z.array(WebhookEvent),
  created_at: Instant,
});
export type Webhook = z.infer<typeof Webhook>;

/** One notice to one webhook. */
export const Delivery = z.object({
  id: Uuid,
  webhook_id: Uuid,
  event_type: WebhookEvent,
  session_id: Uuid,
  event_sequence: z.int().positive(),
  state: z.enum(["pending", "delivered", "failed"]),
  attempts: Count,
  /** The status of the last answer; null if there was none. */
  last_status: z.int().nullable(),
  last_error: z.string().nullable(),
  next_attempt_at: Instant.nullable(),
  created_at: Instant,
});
export type Delivery = z.infer<typeof Delivery>;

/** A session as one file: its log, which is all there is to it. */
export const SessionFile = z.strictObject({
  format: z.literal("skein.session"),
  version: z.literal(1),
  session_id: Uuid,
  events: z.array(ApiEvent).min(1).max(200_000),
});

export const Health = z.object({
  status: z.enum(["ok", "degraded"]),
  version: z.string(),
  /** Only with a key. */
  dependencies: z
    .array(z.object({ name: z.string(), status: z.enum(["ok", "failed"]), latency_ms: z.number(), detail: z.string() }))
    .optional(),
});

/** The wire form of a session. */
export type SessionRow = z.infer<typeof Session>;
