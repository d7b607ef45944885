import { z } from "zod";
import { ACTION_TYPES } from "../fact-table.ts";
import { Uuid } from "../../ids.ts";
import { Outcome, Run } from "../../session.ts";
import { CostTotals, UsageTotals } from "../../usage.ts";
import { AnyObject } from "./page.ts";

const Instant = z.iso.datetime();
const Count = z.int().nonnegative();

/** A run with the fields of conversation_history. */
export const ApiRun = z.object({
  ...Run.shape,
  /** Some of the run's usage is estimated from the text of answers that broke off. */
  estimated: z.boolean(),
  /** The built-in simulation answered: the run costs nothing. */
  simulated: z.boolean(),
  /**
   * `queued`: the prompt waits for the run before it. Whether a run waits for an answer is shown by the session's
   * `activity`.
   */
  status: z.enum(["queued", "running", ...Outcome.options]),
  generated_files: z.array(AnyObject),
  /** The id of the run, which the agent tables call a conversation. */
  conversation_id: Uuid,
  run_id: Uuid,
  /** The session. */
  agent_uuid: Uuid,
  /** The number of the run in its session, from 1. */
  sequence_number: z.int().positive(),
  extras: AnyObject,
  created_at: Instant,
});

/** One run with its messages. */
export const ApiRunWithMessages = ApiRun.extend({
  /** Null while the run is queued, or if the run was cancelled before it began. */
  started_at: Instant.nullable(),
  /** Null if the run never began. */
  number: ApiRun.shape.number.nullable(),
  sequence_number: ApiRun.shape.sequence_number.nullable(),
  messages: z.array(z.object({ role: z.string(), content: z.union([z.string(), z.array(AnyObject)]) })),
});

/** One call of a model: an attempt at a step, or another call, such as for a title. */
export const ApiStep = z.object({
  run_id: Uuid,
  step: Count,
  attempt: z.int().positive(),
  purpose: z.enum(["step", "summary", "title", "compaction"]),
  model: z.string(),
  /** The event with which the call began. */
  sequence: z.int().positive(),
  /** Abandoned: the worker died or the run ended before the answer came. */
  state: z.enum(["running", "generated", "failed", "abandoned"]),
  started_at: Instant,
  duration_ms: Count.nullable(),
  stop_reason: z.string().nullable(),
  error: z.string().nullable(),
  /** Null while the call runs, and if nothing was charged. */
  usage: AnyObject.nullable(),
  /** Null if `usage` is null, and if the model has no price. */
  cost_micros: Count.nullable(),
  /**
   * Whether the stream broke off. Then the output tokens are estimated from the text that arrived, and up to
   * `reserved_micros` more may have been billed.
   */
  estimated: z.boolean(),
  reserved_micros: Count,
  /** The built-in simulation answered. */
  simulated: z.boolean(),
  /** How many tools the answer called. */
  calls: Count,
});
export type ApiStep = z.infer<typeof ApiStep>;

/** A row of agent_runs. */
export const RunLog = z.object({
  /** The number of the row in its run, from 1. */
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
  /** The parts of the conversation that the model was not shown, because only another model can read them. */
  left_out: z.array(z.object({ turn: z.int().nonnegative(), block: z.string(), why: z.string() })),
  /** The request in the format of the Messages API: as it was sent, if the model uses that API. */
  body: AnyObject,
  /** The request as it was sent, if the model uses another API. */
  sent: z.object({ api: z.string(), body: AnyObject }).nullable(),
  /** Where each part of the body comes from, in the order in which the model reads them. */
  parts: z.array(
    z.object({
      /** `tools`, `system.0`, or `messages.2.0` for a block of a message. */
      path: z.string(),
      origin: z.enum(["tools", "system", "memory", "compaction", "message", "model", "result"]),
      /** The event that contains the part; null for parts that come from the agent or the loop. */
      sequence: z.int().positive().nullable(),
      /** Estimated from the length of the part: a model counts only whole requests. */
      tokens: Count,
    }),
  ),
});
export type SentRequest = z.infer<typeof SentRequest>;

export const UsageQuery = z.strictObject({
  /** One of day, model, agent, session, project, key; or two of them with a comma, such as `day,model`. */
  group_by: z
    .string()
    .regex(
      /^(?:day|model|agent|session|project|key)(?:,(?:day|model|agent|session|project|key))?$/,
      "Expected day, model, agent, session, project or key, or two of them separated by a comma.",
    )
    .refine((keys) => new Set(keys.split(",")).size === keys.split(",").length, "Expected two different keys.")
    .default("day"),
  from: Instant.optional(),
  to: Instant.optional(),
  agent_id: Uuid.optional(),
  session_id: Uuid.optional(),
  /** The time zone whose days are used, such as Europe/Berlin; UTC if not given. */
  time_zone: z.string().min(1).max(100).optional(),
});

export const UsageRow = z.object({
  /**
   * The value of the first group: the day, the model's name, the id of the agent or session, the folder of the project,
   * or the name of the key that opened the session. Empty if the session has none.
   */
  key: z.string(),
  /** The value of the second group. */
  second_key: z.string().optional(),
  runs: Count,
  ...UsageTotals.shape,
  ...CostTotals,
});
export type UsageRow = z.infer<typeof UsageRow>;

export const ToolUsageQuery = UsageQuery.omit({ group_by: true });

/** How often a tool was called on a day. A call counts for the day on which it ended. */
export const ToolUsageRow = z.object({
  day: z.string(),
  tool: z.string(),
  calls: Count,
  /** How many of the calls failed, and how many may or may not have taken effect. */
  failed: Count,
  unknown: Count,
  /** The duration of all calls together. */
  duration_ms: Count,
});
export type ToolUsageRow = z.infer<typeof ToolUsageRow>;
