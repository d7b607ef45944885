import { z } from "zod";
import { Line, Tags } from "../../agent.ts";
import { ContentBlock, JsonObject } from "../../content.ts";
import { Uuid } from "../../ids.ts";
import { Outcome, SessionStatus } from "../../session.ts";
import { CostTotals, UsageTotals } from "../../usage.ts";
import { ApiEvent } from "./message-shapes.ts";
import { AnyObject, PageQuery } from "./page.ts";

const Instant = z.iso.datetime();
const Count = z.int().nonnegative();
/** Any JSON value. */
const AnyValue = z.unknown();

/** The position of a session in the queue, from 1, and the reason for the wait. */
const Queued = z.object({ place: z.int().positive(), reason: z.string() });

/** A session with the fields of the platform API and additional fields of Skein. */
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
  /** More detailed than `status`. For example, a session that waits for a person's answer is `awaiting`. */
  activity: SessionStatus,
  /** How the last run ended. */
  outcome: Outcome.nullable(),
  /** The run in progress. */
  run_id: Uuid.nullable(),
  model: z.string(),
  metadata: AnyObject,
  updated_at: Instant,
  parent_session_id: Uuid.nullable(),
  forked_from_sequence: z.int().positive().nullable(),
  /** The session that called this subagent, and its tool call. Null if this session is not a subagent's session. */
  subagent_of_session_id: Uuid.nullable(),
  subagent_of_tool_use_id: z.string().nullable(),
  /** The name of the API key that opened the session. Null if no key was used. */
  opened_by: z.string().nullable(),
  total_runs: Count,
  /** The start of the last run. Null if the session has no run. */
  last_run_at: Instant.nullable(),
  usage: UsageTotals,
  ...CostTotals,
  /** True if some usage is estimated, because a model's answer broke off or came without token counts. */
  estimated: z.boolean(),
  /**
   * The amount that interrupted model calls may have cost beyond `cost_micros`. It counts against budgets until
   * `reserved_until` or until the model's next answer. No total includes it.
   */
  reserved_micros: Count,
  reserved_until: Instant.nullable(),
  /** True if the built-in simulation answered in the session. */
  simulated: z.boolean(),
  /**
   * True if a tool call of the session may or may not have taken effect.
   */
  has_unknown_effect: z.boolean(),
  /**
   * A sentence that says what all workers lack for this session. Only responses with a single session have this field.
   */
  unserved: z.string().optional(),
  /** Set if the session's prompt waits in the queue. Only responses with a single session have this field. */
  queued: Queued.optional(),
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

const Tag = z.string().min(1).max(100);

/** Additional data that a list of sessions can have. */
const INCLUDED = ["last_message", "open_awaits", "first_prompt", "has_queued_prompt"] as const;

export const SessionQueryInput = z.strictObject({
  ...PageQuery.shape,
  agent_id: Uuid.optional(),
  status: ApiSession.shape.status.optional(),
  activity: SessionStatus.optional(),
  /** How the last run ended. */
  outcome: Outcome.optional(),
  /** The model of the session. */
  model: z.string().min(1).max(100).optional(),
  /** Finds sessions with this text in the title. Ignores case. */
  title: z.string().min(1).max(255).optional(),
  /** `true` leaves out the sessions of subagents. */
  top_level: z.enum(["true", "false"]).optional(),
  /** `true` finds only sessions with a tool call that may or may not have taken effect. */
  has_unknown_effect: z.enum(["true", "false"]).optional(),
  /**
   * `last_run` sorts by the start of the last run, newest first. A session without a run is sorted by its creation.
   * `cost` sorts the most expensive first. `title` sorts from A to Z, and puts sessions without a title last.
   */
  sort: z.enum(["created", "last_run", "cost", "title"]).optional(),
  /** Finds only sessions with these ids: up to 100, separated by commas. */
  ids: z
    .string()
    .regex(/^[0-9a-f-]{36}(,[0-9a-f-]{36}){0,99}$/i, "Expected up to 100 ids of sessions, separated by commas.")
    .optional(),
  /** The number of sessions to skip. */
  offset: z.coerce.number().int().nonnegative().max(10_000_000).optional(),
  /** `true` adds the number of all matching sessions. */
  count: z.enum(["true", "false"]).optional(),
  /** Names of additional data for each session, separated by commas. */
  include: z
    .string()
    .regex(
      new RegExp(`^(${INCLUDED.join("|")})(,(${INCLUDED.join("|")})){0,${INCLUDED.length - 1}}$`),
      `Expected some of ${INCLUDED.join(", ")}.`,
    )
    .optional(),
  /** Finds sessions with this tag. If given several times, finds sessions with all of these tags. */
  tag: z.union([Tag, z.array(Tag).min(1).max(20)]).optional(),
  /** `from` finds sessions that were created at this time or later. `to` finds sessions that were created before it. */
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
  /** Finds only forks of this session. */
  parent_session_id: Uuid.optional(),
  /** Finds only sessions of subagents that this session called. */
  subagent_of_session_id: Uuid.optional(),
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

/** A frame of the stream about changes of all sessions. */
export const ChangeFrame = z.discriminatedUnion("event", [
  z.object({ event: z.literal("stream.opened"), data: z.object({}) }),
  z.object({
    event: z.literal("session.changed"),
    /** The current session, and the sequence of its last event. */
    data: z.object({ session: ApiSession, last_sequence: z.int().positive() }),
  }),
  z.object({ event: z.literal("stream.reset"), data: z.object({ given: z.string() }) }),
  z.object({
    event: z.literal("stream.closing"),
    data: z.object({ reason: z.enum(["shutdown", "revoked", "deleted"]) }),
  }),
]);

/** How many awaits of each kind are open. */
const OpenAwaits = z.object({ frontend_tool: Count, question: Count, approval: Count, subagent: Count });

/** A session in a list, with the additional data that the request asked for. */
const ListedSession = ApiSession.extend({
  last_message: z
    .object({ role: z.enum(["user", "assistant"]), text: z.string(), created_at: Instant })
    .nullable()
    .optional(),
  open_awaits: OpenAwaits.optional(),
  /**
   * The beginning of the first prompt. Null if the session has a title or no prompt.
   */
  first_prompt: z.string().nullable().optional(),
  /** True if no run is in progress and a prompt waits for a worker. */
  has_queued_prompt: z.boolean().optional(),
});

export const SessionPage = z.object({
  data: z.array(ListedSession),
  next_cursor: z.string().nullable(),
  total: Count.optional(),
});
export type SessionPage = z.infer<typeof SessionPage>;

export const SearchQuery = SessionQueryInput.pick({
  agent_id: true,
  status: true,
  activity: true,
  outcome: true,
  model: true,
  tag: true,
  top_level: true,
  has_unknown_effect: true,
  from: true,
  to: true,
  cursor: true,
  include: true,
}).extend({
  /** The text to find. Ignores case. */
  q: z.string().min(2).max(200),
  limit: z.coerce.number().int().min(1).max(200).optional(),
});

/** A session with the searched text, and the last event with this text. */
const SessionMatch = z.object({
  session: ListedSession,
  role: z.enum(["user", "assistant", "tool_call", "tool_result", "system"]),
  sequence: z.int().positive(),
  created_at: Instant,
  /** The found text with some text around it. */
  excerpt: z.string(),
});

export const SessionMatches = z.object({
  data: z.array(SessionMatch),
  /** The cursor that continues the search. Null if all sessions were searched. */
  next_cursor: z.string().nullable(),
  /** The start of the last run in the session that was searched last. */
  searched_until: Instant.nullable(),
});

/**
 * An await, which is a tool call that waits for a person, the client or a subagent, with some fields of its session.
 */
export const TenantAwait = ApiAwait.extend({
  session: z.object({
    id: Uuid,
    title: z.string().nullable(),
    agent_id: Uuid,
    /** Null if the agent was deleted. */
    agent_name: z.string().nullable(),
  }),
});

export const AwaitQueryInput = z.strictObject({
  ...PageQuery.shape,
  /** Default: all kinds except `subagent`, because only Skein answers awaits for subagents. */
  kind: ApiAwait.shape.kind.optional(),
  agent_id: Uuid.optional(),
});

export const AnswerInput = z.strictObject({
  content: z.union([z.string(), z.array(ContentBlock).max(1000)], {
    error: "Expected text or a list of content blocks.",
  }),
  is_error: z.boolean().default(false),
  /** The input with which an approved call runs, instead of the model's input. */
  updated_input: JsonObject.optional(),
});

/**
 * What became of an answer to an await. If the server rejects the answer, the response is an error without this body.
 */
export const ApiAnswered = z.object({
  session_id: Uuid,
  tool_use_id: z.string(),
  disposition: z.enum(["accepted", "duplicate", "stale"]),
  reason: z.string(),
  event_sequence: z.int().positive().nullable(),
});

/** A tool call with its outcome. After a crash the outcome may be unknown. */
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

/** A session as one file, with its complete log. */
export const SessionFile = z.strictObject({
  format: z.literal("skein.session"),
  version: z.literal(1),
  session_id: Uuid,
  events: z.array(ApiEvent).min(1).max(200_000),
});
