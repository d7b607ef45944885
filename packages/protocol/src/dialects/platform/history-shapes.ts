import { z } from "zod";
import { AnyObject, PageQuery } from "./page.ts";

const Instant = z.iso.datetime();
const Count = z.int().nonnegative();
/**
 * Finds only sessions of this coding agent, such as `claude-code` or `codex`. The error for an unknown name lists the
 * known names.
 */
const Source = z.string().min(1).max(40);

const HistoryUsage = z.object({
  input_tokens: Count,
  output_tokens: Count,
  cache_creation_input_tokens: Count,
  cache_read_input_tokens: Count,
});

/** The usage of a session and its subagents together. */
const HistorySessionUsage = HistoryUsage.extend({
  calls: Count,
  /** Calls to models without a price. The cost does not include these calls. */
  unpriced_calls: Count,
  models: z.array(z.string()),
});
export type HistorySessionUsage = z.infer<typeof HistorySessionUsage>;

/** A session in the files of a coding agent, such as Claude Code. Skein only reads these files. */
export const HistorySession = z.object({
  id: z.string(),
  /** The coding agent, such as `claude-code`, `codex` or `opencode`. */
  source: z.string(),
  title: z.string().nullable(),
  project_path: z.string(),
  git_branch: z.string().nullable(),
  /** The version of the agent that wrote the session. */
  version: z.string(),
  created_at: Instant,
  last_activity_at: Instant,
  /** User and assistant messages, including tool results, without messages of subagents. */
  message_count: Count,
  subagents: z.array(z.string()),
  size_bytes: Count,
  /**
   * The cost of the session and its subagents, according to the price table. Null before the cost is computed, or if no
   * call has a price.
   */
  cost_micros: Count.nullable(),
  /** The tokens and calls behind `cost_micros`. Null before they are counted. */
  usage: HistorySessionUsage.nullable(),
});
export type HistorySession = z.infer<typeof HistorySession>;

export const HistoryQuery = z.strictObject({
  ...PageQuery.shape,
  offset: z.coerce.number().int().nonnegative().max(10_000_000).optional(),
  /** Only sessions of this project's folder. */
  project: z.string().min(1).max(2000).optional(),
  source: Source.optional(),
  /** Finds sessions with this text in the title or in the project's path. */
  title: z.string().min(1).max(255).optional(),
  /**
   * `activity`, the default: most recently active first. `created`: newest first. `cost`: most expensive first.
   * `title`: from A to Z.
   */
  sort: z.enum(["activity", "created", "cost", "title"]).optional(),
  /** `from` finds sessions that were active at this time or later. `to` finds sessions that were active before it. */
  from: Instant.optional(),
  to: Instant.optional(),
});

/** A page of the agents' sessions, in the order of the query's `sort`. */
export const HistoryPage = z.object({
  data: z.array(HistorySession),
  next_cursor: z.string().nullable(),
  total: Count,
});

/** A point where a person went back in the conversation and typed another prompt. */
const HistoryBranch = z.object({
  /** The message before the branch. Null if the branch is at the beginning. */
  at: z.string().nullable(),
  ways: z.array(z.object({ id: z.string(), prompt: z.string().nullable(), is_active: z.boolean() })),
});

/** A session with details that need its whole transcript. */
export const HistoryDetails = HistorySession.extend({
  /** Null if the transcript is too large to be read as a whole. */
  branches: z.array(HistoryBranch).nullable(),
  /** The folder and the command to continue the session in its agent. */
  resume: z.object({ directory: z.string(), command: z.string() }),
  /** True if Skein has adopted this session. */
  is_adopted: z.boolean(),
});

/** A message of a transcript, with the blocks of the Messages API. */
export const HistoryMessage = z.object({
  /** The id of the message's line. A line without an id gets `line:` and its position. */
  id: z.string(),
  parent_id: z.string().nullable(),
  /** All lines of one model's answer have the same `message_id`, even on different pages. */
  message_id: z.string().nullable(),
  type: z.string(),
  /** The subtype of a system line, such as `compact_boundary`. */
  subtype: z.string().nullable(),
  role: z.enum(["user", "assistant"]).nullable(),
  /** The text that a person typed. Null for all other messages. */
  prompt: z.string().nullable(),
  content: z.array(AnyObject),
  /** True if very long texts were cut, or very large pictures left out. The file has the whole content. */
  is_cut: z.boolean(),
  created_at: Instant,
  model: z.string().nullable(),
  stop_reason: z.string().nullable(),
  usage: HistoryUsage.nullable(),
  is_sidechain: z.boolean(),
  is_rewound: z.boolean(),
  is_compacted: z.boolean(),
  /** The subagent that gave the result. */
  agent_id: z.string().nullable(),
  /** The start of the line in the file. `bytes` is the length of the line. */
  offset: Count,
  bytes: Count,
});
export type HistoryMessage = z.infer<typeof HistoryMessage>;

/**
 * The coding agent of a session. Sessions of two agents may have the same id. Without `source`, the request is for the
 * session that was active last.
 */
export const OfAgent = z.strictObject({ source: Source.optional() });

export const HistoryMessageQuery = OfAgent.extend({
  limit: z.coerce.number().int().min(1).max(500).optional(),
  /** Returns messages before this position. Without `before` and `after`, returns the last messages. */
  before: z.coerce.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER).optional(),
  /** Returns messages at this position and after it. */
  after: z.coerce.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER).optional(),
  /** Returns the transcript of this subagent instead of the main transcript. */
  agent_id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,100}$/)
    .optional(),
});

/** A page of a transcript, oldest first. */
export const HistoryMessages = z.object({
  data: z.array(HistoryMessage),
  /** The value of `before` for the previous page. Null at the beginning of the file. */
  next_before: Count.nullable(),
  /**
   * The value of `after` for the next page. A later request with this value returns new messages.
   */
  next_after: Count,
  size_bytes: Count,
  /** How many lines of this page cannot be read. */
  damaged: Count,
});

export const HistorySearchQuery = z.strictObject({
  /** Words, "phrases in quotes" and /patterns/. A message must have all of them. */
  q: z.string().min(1).max(500),
  limit: z.coerce.number().int().min(1).max(200).optional(),
  offset: z.coerce.number().int().nonnegative().max(100_000).optional(),
  project: z.string().min(1).max(2000).optional(),
  source: Source.optional(),
  session_id: z.string().min(1).max(100).optional(),
});

/** A message that matches the search. */
const HistoryMatch = z.object({
  session_id: z.string(),
  /** The coding agent of the session. */
  source: z.string(),
  title: z.string().nullable(),
  project_path: z.string(),
  message_id: z.string(),
  kind: z.enum(["prompt", "text", "thinking", "tool_use", "tool_result", "other"]),
  tool_name: z.string().nullable(),
  agent_id: z.string().nullable(),
  /** The matching text. `context` has the line with this text, and the lines around the line. */
  match: z.string(),
  context: z.array(z.string()),
  created_at: Instant,
  /** The start of the line in its file. */
  offset: Count,
});

export const HistoryMatches = z.object({
  data: z.array(HistoryMatch),
  total: Count,
  /** True if `total` is a lower bound, because matches that cannot be on this page were not counted. */
  is_at_least: z.boolean(),
});

export const HistoryUsageQuery = z.strictObject({
  group_by: z.enum(["day", "week", "month", "model", "project", "session", "source", "block", "tool"]).default("day"),
  from: Instant.optional(),
  to: Instant.optional(),
  project: z.string().min(1).max(2000).optional(),
  source: Source.optional(),
  /** The time zone for days. Default: UTC. */
  time_zone: z.string().min(1).max(100).optional(),
});

/** Tokens and money of the agents' sessions. The costs come from the price table. */
export const HistoryUsageRow = z.object({
  /**
   * The value of the group, such as a day, a model or the name of a tool. A week has its Monday, and a block has its
   * beginning.
   */
  key: z.string(),
  ...HistoryUsage.shape,
  calls: Count,
  cost_micros: Count,
  unpriced_calls: Count,
  /** The coding agent. Only rows of the group `session` have this field. */
  source: z.string().optional(),
  /** The end of a block of five hours. `is_gap` is true if the block had no activity. */
  ends_at: Instant.optional(),
  is_gap: z.boolean().optional(),
  /** The number of failed calls of a tool. */
  failed: Count.optional(),
});
export type HistoryUsageRow = z.infer<typeof HistoryUsageRow>;

/** A file that a session changed, with the copies that Claude Code made before each change. */
export const HistoryFile = z.object({
  path: z.string(),
  versions: z.array(
    z.object({
      version: z.int(),
      message_id: z.string(),
      created_at: Instant.nullable(),
      /** True if the file did not exist at that time. */
      is_absent: z.boolean(),
      /** True if the copy still exists and can be read. */
      is_kept: z.boolean(),
    }),
  ),
});

/** A frame of the stream about changed sessions of coding agents. */
export const HistoryFrame = z.discriminatedUnion("event", [
  z.object({ event: z.literal("stream.opened"), data: z.object({}) }),
  z.object({
    event: z.literal("history.changed"),
    data: z.object({ session_id: z.string(), change: z.enum(["created", "appended", "rewritten", "removed"]) }),
  }),
  z.object({
    event: z.literal("stream.closing"),
    data: z.object({ reason: z.enum(["shutdown", "revoked", "deleted"]) }),
  }),
]);
