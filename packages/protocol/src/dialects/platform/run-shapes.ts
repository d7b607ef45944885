import { z } from "zod";
import { ACTION_TYPES } from "../fact-table.ts";
import { Uuid } from "../../ids.ts";
import { Outcome, Run } from "../../session.ts";
import { CostTotals, UsageTotals } from "../../usage.ts";
import { AnyObject } from "./page.ts";

const Instant = z.iso.datetime();
const Count = z.int().nonnegative();

/** A run, with additional fields that have the names of the agent tables' conversation_history. */
export const ApiRun = z.object({
  ...Run.shape,
  /** True if some usage is estimated, because a model's answer broke off or came without token counts. */
  estimated: z.boolean(),
  /** True if the built-in simulation answered. Such a run costs nothing. */
  simulated: z.boolean(),
  /**
   * `queued`: the prompt waits for an earlier run. A run that waits for a person or the client is `running`, and the
   * session's `activity` shows that the run waits.
   */
  status: z.enum(["queued", "running", ...Outcome.options]),
  generated_files: z.array(AnyObject),
  /** The id of the run. The agent tables call a run a conversation. */
  conversation_id: Uuid,
  run_id: Uuid,
  /** The id of the session. The agent tables call a session an agent. */
  agent_uuid: Uuid,
  /** The number of the run in its session, from 1. */
  sequence_number: z.int().positive(),
  extras: AnyObject,
  created_at: Instant,
});

/** A run with its messages. */
export const ApiRunWithMessages = ApiRun.extend({
  /** Null if the run is queued, or was cancelled before its start. */
  started_at: Instant.nullable(),
  /** Null if the run never began. */
  number: ApiRun.shape.number.nullable(),
  sequence_number: ApiRun.shape.sequence_number.nullable(),
  messages: z.array(z.object({ role: z.string(), content: z.union([z.string(), z.array(AnyObject)]) })),
});

/** A model call: an attempt at a step, or a call for a title, a summary or a compaction. */
export const ApiStep = z.object({
  run_id: Uuid,
  step: Count,
  attempt: z.int().positive(),
  purpose: z.enum(["step", "summary", "title", "compaction"]),
  model: z.string(),
  /** The sequence of the event that started the call. */
  sequence: z.int().positive(),
  /** `abandoned`: the worker died or the run ended before the model's answer was complete. */
  state: z.enum(["running", "generated", "failed", "abandoned"]),
  started_at: Instant,
  duration_ms: Count.nullable(),
  stop_reason: z.string().nullable(),
  error: z.string().nullable(),
  /** Null if the call is in progress or was not charged. */
  usage: AnyObject.nullable(),
  /** Null if `usage` is null or the model has no price. */
  cost_micros: Count.nullable(),
  /**
   * True if the stream broke off or came without token counts. The output tokens are estimated from the received text.
   * After a broken stream, the provider may bill up to `reserved_micros` more.
   */
  estimated: z.boolean(),
  reserved_micros: Count,
  /** True if the built-in simulation answered instead of a model. */
  simulated: z.boolean(),
  /** The number of tool calls in the model's answer. */
  calls: Count,
});
export type ApiStep = z.infer<typeof ApiStep>;

/** A row of agent_runs. */
export const RunLog = z.object({
  /** The number of the row in its run, from 1. */
  log_id: z.int().positive(),
  /** The id of the session. The agent tables call a session an agent. */
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

/** The request of one model call. */
export const SentRequest = z.object({
  run_id: Uuid,
  step: Count,
  attempt: z.int().positive(),
  purpose: z.string(),
  sequence: z.int().positive(),
  betas: z.array(z.string()),
  /** Blocks that were not sent, because only another model can read them. */
  left_out: z.array(z.object({ turn: z.int().nonnegative(), block: z.string(), why: z.string() })),
  /** The request in the format of the Messages API. If the model uses this API, this request was sent unchanged. */
  body: AnyObject,
  /** The sent request, if the model uses another API. */
  sent: z.object({ api: z.string(), body: AnyObject }).nullable(),
  /** The parts of the body and their origins, in the order of the request. */
  parts: z.array(
    z.object({
      /** The path in the body, such as `tools`, `system.0` or `messages.2.0`. */
      path: z.string(),
      origin: z.enum(["tools", "system", "memory", "compaction", "message", "model", "result"]),
      /**
       * The sequence of the event with this part. Null if the part comes from the agent's settings or from Skein
       * itself.
       */
      sequence: z.int().positive().nullable(),
      /** Estimated from the length of the part, because models count only whole requests. */
      tokens: Count,
    }),
  ),
});
export type SentRequest = z.infer<typeof SentRequest>;

export const UsageQuery = z.strictObject({
  /** Groups by day, model, agent, session, project or key, or by two of these, such as `day,model`. */
  group_by: z
    .string()
    .regex(
      /^(?:day|model|agent|session|project|key)(?:,(?:day|model|agent|session|project|key))?$/,
      "Expected day, model, agent, session, project or key, or two of them separated by a comma.",
    )
    .refine((keys) => new Set(keys.split(",")).size === keys.split(",").length, "Expected two different groups.")
    .default("day"),
  from: Instant.optional(),
  to: Instant.optional(),
  agent_id: Uuid.optional(),
  session_id: Uuid.optional(),
  /** The time zone for days, such as Europe/Berlin. Default: UTC. */
  time_zone: z.string().min(1).max(100).optional(),
});

export const UsageRow = z.object({
  /**
   * The value of the first group, such as a day, a model's name, an id or a folder. For the group `key`, this is the
   * name of the API key that opened the session. Empty if the session has no such value.
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

/** The calls of a tool on one day. A call counts on the day of its end. */
export const ToolUsageRow = z.object({
  day: z.string(),
  tool: z.string(),
  calls: Count,
  /** The number of failed calls. `unknown` counts calls that may or may not have taken effect. */
  failed: Count,
  unknown: Count,
  /** The duration of all calls together. */
  duration_ms: Count,
});
export type ToolUsageRow = z.infer<typeof ToolUsageRow>;
