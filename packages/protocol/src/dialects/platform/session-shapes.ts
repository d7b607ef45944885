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

/** The position of a session in the queue (1 is next), and what the session waits for. */
const Queued = z.object({ place: z.int().positive(), reason: z.string() });

/** A session in the platform API's fields and words, with additional fields of Skein. */
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
  /** More detailed than `status`: a session that waits for somebody is `awaiting`. */
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
  /** For a subagent's session: the session that called it, and the call that waits for it. */
  subagent_of_session_id: Uuid.nullable(),
  subagent_of_tool_use_id: z.string().nullable(),
  /** The name of the key that opened the session; null if no key was used. */
  opened_by: z.string().nullable(),
  total_runs: Count,
  /** When the last run began; null if there was none. */
  last_run_at: Instant.nullable(),
  usage: UsageTotals,
  ...CostTotals,
  /** Some of the session's usage is estimated from the text of answers that broke off. */
  estimated: z.boolean(),
  /**
   * The amount that model calls may have cost beyond `cost_micros` because they broke off. It counts against budgets
   * until `reserved_until` or until the next answer; no total includes it.
   */
  reserved_micros: Count,
  reserved_until: Instant.nullable(),
  /** The built-in simulation answered in the session. */
  simulated: z.boolean(),
  /**
   * Whether the session has a tool call that may or may not have taken effect. The session's effects list such calls.
   */
  has_unknown_effect: z.boolean(),
  /**
   * What this session needs but no worker has, as a sentence. Only in the answer for one session, and only if something
   * is missing.
   */
  unserved: z.string().optional(),
  /** Set while the session's prompt waits for its turn. Only in the answer for one session. */
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

/** What a list of sessions can contain in addition to the sessions. */
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
  /** Text in the title, ignoring case. */
  title: z.string().min(1).max(255).optional(),
  /** `true` leaves out the sessions of subagents. */
  top_level: z.enum(["true", "false"]).optional(),
  /** `true`: only sessions with a tool call that may or may not have taken effect. */
  has_unknown_effect: z.enum(["true", "false"]).optional(),
  /**
   * `last_run`: by the start of the last run, newest first; a session without a run is sorted by its creation. `cost`: most
   * expensive first. `title`: from A to Z, sessions without a title last.
   */
  sort: z.enum(["created", "last_run", "cost", "title"]).optional(),
  /** Only these sessions: up to 100 ids separated by commas. */
  ids: z
    .string()
    .regex(/^[0-9a-f-]{36}(,[0-9a-f-]{36}){0,99}$/i, "Expected up to 100 ids of sessions, separated by commas.")
    .optional(),
  /** How many sessions to skip, to jump into a long list. */
  offset: z.coerce.number().int().nonnegative().max(10_000_000).optional(),
  /** `true` adds the number of all matching sessions. */
  count: z.enum(["true", "false"]).optional(),
  /** Additional data for each session: some of these names, separated by commas. */
  include: z
    .string()
    .regex(
      new RegExp(`^(${INCLUDED.join("|")})(,(${INCLUDED.join("|")})){0,${INCLUDED.length - 1}}$`),
      `Expected some of ${INCLUDED.join(", ")}.`,
    )
    .optional(),
  /** Only sessions with this tag. If given several times: with all of these tags. */
  tag: z.union([Tag, z.array(Tag).min(1).max(20)]).optional(),
  /** From: created at this time or later. To: created before this time. */
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
  /** Only forks of this session. */
  parent_session_id: Uuid.optional(),
  /** Only sessions of subagents that this session called. */
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

/** A frame of the stream that reports changes of all sessions. */
export const ChangeFrame = z.discriminatedUnion("event", [
  z.object({ event: z.literal("stream.opened"), data: z.object({}) }),
  z.object({
    event: z.literal("session.changed"),
    /** The session as it is now, and the sequence of the last event of its log. */
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
   * The beginning of the first prompt, for a session without a title; null if the session has a title or no prompt yet.
   */
  first_prompt: z.string().nullable().optional(),
  /** Whether no run is in progress and a prompt waits for a worker. */
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
  /** The text to look for, ignoring case. */
  q: z.string().min(2).max(200),
  limit: z.coerce.number().int().min(1).max(200).optional(),
});

/** A session that contains the searched text, and the event that has it last. */
const SessionMatch = z.object({
  session: ListedSession,
  role: z.enum(["user", "assistant", "tool_call", "tool_result", "system"]),
  /** The event that contains the text. */
  sequence: z.int().positive(),
  created_at: Instant,
  /** The text with some of its surroundings. */
  excerpt: z.string(),
});

export const SessionMatches = z.object({
  data: z.array(SessionMatch),
  /** The cursor that continues the search; null if every session was searched. */
  next_cursor: z.string().nullable(),
  /** The time of the last run of the last session that was searched. */
  searched_until: Instant.nullable(),
});

/** An await in the list over all sessions, with the fields by which people recognise its session. */
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
  /** Default: every kind but `subagent`, because nobody outside Skein answers these. */
  kind: ApiAwait.shape.kind.optional(),
  agent_id: Uuid.optional(),
});

export const AnswerInput = z.strictObject({
  content: z.union([z.string(), z.array(ContentBlock).max(1000)], {
    error: "Expected text or a list of content blocks.",
  }),
  is_error: z.boolean().default(false),
  /** For an approval: the call runs with this input instead of the model's. */
  updated_input: JsonObject.optional(),
});

/** The outcome of an answer. `refused` is an error instead. */
export const ApiAnswered = z.object({
  session_id: Uuid,
  tool_use_id: z.string(),
  disposition: z.enum(["accepted", "duplicate", "stale"]),
  reason: z.string(),
  event_sequence: z.int().positive().nullable(),
});

/** What one tool call did, or that its outcome is unknown. */
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

/** A session as one file: its complete log. */
export const SessionFile = z.strictObject({
  format: z.literal("skein.session"),
  version: z.literal(1),
  session_id: Uuid,
  events: z.array(ApiEvent).min(1).max(200_000),
});
