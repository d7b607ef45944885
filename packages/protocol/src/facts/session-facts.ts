import { z } from "zod";
import { AgentConfig, Line, Tags } from "../agent.ts";
import { Content, JsonObject } from "../content.ts";
import { Failure } from "../error.ts";
import { happenedAt } from "./happened-at.ts";
import { Uuid } from "../ids.ts";
import { StopReason } from "../session.ts";
import { Picos, UsageTotals } from "../usage.ts";

const Count = z.int().nonnegative();

/** The totals of a run, recorded once at its end. */
const runTotals = {
  usage: UsageTotals,
  cost_micros: Count,
  /** The exact cost, as decimal text. */
  cost_picos: Picos.optional(),
  unpriced_calls: Count,
  /**
   * Set if some usage is estimated, because a model's answer broke off or came without token counts. `reserved_micros`
   * is the amount that interrupted calls may have cost beyond `cost_micros`.
   */
  estimated: z.literal(true).optional(),
  reserved_micros: Count.optional(),
  simulated: z.literal(true).optional(),
  files_generated: Count,
  duration_ms: Count,
};

/** The result that Claude Code reports. Runs of the other runtime, Skein's own loop, have only totals. */
const ownResult = { result: JsonObject.optional() };

/** Facts about sessions, prompts, runs and messages. */
export const sessionFacts = {
  /** The first fact of every log. */
  "session.created": z.object({
    tenant: Line.min(1).max(100),
    agent_id: Uuid,
    agent_version: z.int().positive(),
    agent: AgentConfig,
    title: Line.max(255).nullable(),
    tags: Tags,
    model_id: Uuid.nullable(),
    working_directory: Line.max(500).nullable(),
    metadata: JsonObject,
    /** The parent of a fork. The fork has the messages of the parent's log up to this sequence. */
    parent: z.object({ session_id: Uuid, sequence: z.int().positive() }).nullable(),
    /** In a subagent's session: the tool call that started the subagent, in the session of its caller. */
    subagent_of: z.object({ session_id: Uuid, tool_use_id: z.string() }).nullable(),
    /**
     * The name of the API key that opened the session. In a subagent's session, this is the key that opened the session
     * of its caller. Missing if no key was used.
     */
    opened_by: z.string().max(255).optional(),
  }),
  "session.edited": z.object({
    title: Line.max(255).nullable().optional(),
    tags: Tags.optional(),
    model_id: Uuid.nullable().optional(),
    metadata: JsonObject.optional(),
  }),
  /** A message of the parent's transcript was copied into a fork. The fork's usage does not include it. */
  "message.copied": z.object({
    message_id: Uuid,
    role: z.enum(["user", "assistant", "system"]),
    content: Content,
    ...happenedAt,
  }),
  /**
   * A prompt was accepted and stored. It enters the transcript when its run starts, or when the run in progress reads
   * it.
   */
  "prompt.accepted": z.object({
    message_id: Uuid,
    /** The run of this prompt. A prompt that steers a run in progress starts no run. */
    run_id: Uuid,
    mode: z.enum(["queue", "steer", "interrupt"]),
    content: Content,
    model: Line.max(100).nullable(),
    max_cost_micros: Count.nullable(),
    /** The name of the API key that sent the prompt. The run counts against the caps of this key. */
    key_name: Line.max(100).optional(),
    /** Options for this run only, in the format of the session's runtime (see `claude/options.ts`). */
    options: JsonObject.optional(),
    ...happenedAt,
  }),
  "cancel.requested": z.object({ run_id: Uuid, reason: z.string().nullable() }),
  /** A run has begun. In the platform API, this event means that the session is processing. */
  "session.started": z.object({
    run_id: Uuid,
    message_id: Uuid,
    user_message: z.string(),
    formatter: z.string(),
    ...happenedAt,
  }),
  /** A worker took over an open run. The earlier worker and its open calls are lost. */
  "run.resumed": z.object({ run_id: Uuid, fence: z.int().positive() }),
  /**
   * A message entered the transcript. An earlier fact has the content of the message. The message's rows were made from
   * that fact.
   */
  "message.created": z.object({
    message_id: Uuid,
    run_id: Uuid,
    step: Count,
    role: z.enum(["user", "assistant", "system"]),
    /** The number of the message's rows in the platform API. */
    rows: Count,
    transformation_type: z.enum([
      "user_message_added",
      "assistant_message_added",
      "tool_result_added",
      "message_added",
    ]),
    messages_before_count: Count,
    messages_after_count: Count,
    tokens_before: Count,
    tokens_after: Count,
    ...happenedAt,
  }),
  "title.generated": z.object({ title: Line.max(255) }),
  "steps.exhausted": z.object({ run_id: Uuid, step: Count, max_steps: z.int().positive(), ...happenedAt }),
  "session.completed": z.object({
    run_id: Uuid,
    step: Count,
    stop_reason: StopReason,
    final_response: z.string(),
    ...runTotals,
    ...ownResult,
    ...happenedAt,
  }),
  /**
   * The run failed or was cancelled. The platform API has the same event for both. `outcome` tells which of the two
   * happened.
   */
  "session.failed": z.object({
    run_id: Uuid,
    step: Count,
    outcome: z.enum(["failed", "cancelled"]),
    stop_reason: StopReason,
    error: Failure,
    ...runTotals,
    ...ownResult,
    ...happenedAt,
  }),
};
