import { happenedAt } from "./happened-at.ts";
import { z } from "zod";
import { Content, ContentBlock, JsonObject } from "../content.ts";
import { Failure } from "../error.ts";
import { Uuid } from "../ids.ts";
import { CallCost, Picos, Usage } from "../usage.ts";

const Count = z.int().nonnegative();
const inStep = { run_id: Uuid, step: Count };

/** The purpose of a model call. */
const Purpose = z.enum(["step", "summary", "title", "compaction"]);

/**
 * The usage and cost of a call without a complete answer. The call may have cost up to `reserved_micros` more. Facts
 * from before 2026-11-16 do not have `estimated` and `reserved_micros`. Their `cost` is the highest possible cost.
 */
const broken = {
  /**
   * The counts of the model, if the stream had them. If not, the output tokens are estimated from the received text.
   */
  usage: Usage,
  cost: CallCost.nullable(),
  /** Set if `output_tokens` is estimated. */
  estimated: z.literal(true).optional(),
  /** The amount that the call may have cost beyond `cost`. */
  reserved_micros: Count.optional(),
  /**
   * The reserved amounts of the run and the session, including this call. The reservation ends at `until` or earlier.
   */
  reservation: z.object({ run_micros: Count, session_micros: Count, until: z.iso.datetime() }).optional(),
  simulated: z.literal(true).optional(),
};

/** A model's answer that broke off or was invalid, but still costs money. */
const Lost = z.object({ model: z.string(), ...broken });

/** The text of a model's answer that broke off and is not requested again. */
const interrupted = { message_id: Uuid.optional(), content: z.array(ContentBlock).optional() };

/** Facts about model calls, tool calls and awaits. */
export const stepFacts = {
  "step.started": z.object({
    ...inStep,
    attempt: z.int().positive(),
    purpose: Purpose,
    model: z.string(),
    max_tokens: Count,
    thinking_tokens: Count,
    tools_count: Count,
    messages_count: Count,
    estimated_tokens: Count,
    /** Set if the built-in simulation answers instead of a model. */
    simulated: z.literal(true).optional(),
    ...happenedAt,
  }),
  "step.generated": z.object({
    ...inStep,
    purpose: Purpose,
    message_id: Uuid,
    /** The message for the results of the tool calls in `content`. Null if `content` has no tool calls. */
    results_message_id: Uuid.nullable(),
    content: z.array(ContentBlock),
    model: z.string(),
    stop_reason: z.string().nullable(),
    usage: Usage,
    /** Null if the model has no price, never 0. */
    cost: CallCost.nullable(),
    container_id: z.string().nullable(),
    duration_ms: Count,
    /** Set if `usage` is estimated from the text, because the provider sent no counts. */
    estimated: z.literal(true).optional(),
    /** Set if the built-in simulation answered instead of a model. */
    simulated: z.literal(true).optional(),
    ...happenedAt,
  }),
  "step.retried": z.object({
    ...inStep,
    attempt: z.int().positive(),
    error: Failure,
    delay_ms: Count,
    lost: Lost.optional(),
    /** The model that replaces the failed model for the rest of the run. */
    model: z.string().optional(),
    /**
     * Set if the provider rejected the schema of the answer. For the rest of the run, the model must give the answer as
     * a tool call.
     */
    output: z.literal("tool").optional(),
    ...happenedAt,
  }),
  "step.error": z.object({
    ...inStep,
    error: Failure,
    duration_ms: Count,
    lost: Lost.optional(),
    ...interrupted,
    ...happenedAt,
  }),
  /** A model call was abandoned, because its run was cancelled or its worker died or stopped. */
  "step.abandoned": z.object({
    ...inStep,
    model: z.string(),
    ...broken,
    reason: z.enum(["cancelled", "worker_lost", "handed_over"]).optional(),
    ...interrupted,
    /** Set if `content` enters the transcript as an interrupted answer. */
    interrupted: z.literal(true).optional(),
    ...happenedAt,
  }),
  "tool.started": z.object({
    ...inStep,
    tool_use_id: z.string(),
    name: z.string(),
    input: z.unknown(),
    policy: z.enum(["once", "repeatable"]),
    ...happenedAt,
  }),
  "tool.completed": z.object({
    ...inStep,
    tool_use_id: z.string(),
    name: z.string(),
    input: z.unknown(),
    /** `unknown`: the worker died during the call, and the call may or may not have taken effect. */
    outcome: z.enum(["committed", "failed", "unknown"]),
    content: Content,
    is_error: z.boolean(),
    /** The message for this result. `part` is the position of the call in its step. */
    message_id: Uuid,
    part: Count,
    duration_ms: Count,
    /** The value that a tool with an output schema returned. The model reads `content` instead. */
    output: z.unknown().optional(),
    ...happenedAt,
  }),
  "await.opened": z.object({
    ...inStep,
    awaits: z.array(
      z.object({
        tool_use_id: z.string(),
        kind: z.enum(["frontend_tool", "question", "approval", "subagent"]),
        name: z.string(),
        input: z.unknown(),
        expires_at: z.iso.datetime().nullable(),
        /** The session of a subagent that works on the call. */
        session_id: Uuid.nullable(),
        /**
         * More information for the person who decides: the reason for the question, and rules that would allow such
         * calls in future.
         */
        about: JsonObject.optional(),
      }),
    ),
    ...happenedAt,
  }),
  /**
   * An answer to an await, which is a tool call that waits for a person, the client or a subagent. The answer is stored
   * before the session's worker acts on it.
   */
  "await.answered": z.object({
    tool_use_id: z.string(),
    content: Content,
    is_error: z.boolean(),
    /** The cost of a subagent and its subagents. It counts against the caller's budgets. */
    cost_micros: z.int().nonnegative().optional(),
    /** The exact cost, in pico-dollars. */
    cost_picos: Picos.optional(),
    /** The amount that interrupted calls of the subagent may have cost beyond `cost_micros`. */
    reserved_micros: Count.optional(),
  }),
  "await.resolved": z.object({
    ...inStep,
    tool_use_id: z.string(),
    resolution: z.enum(["answered", "timed_out", "cancelled"]),
    waited_ms: Count,
    ...happenedAt,
  }),
  /** A subagent has sent its outcome to the session that called it. */
  "parent.informed": z.object({ ...inStep, session_id: Uuid, tool_use_id: z.string() }),
  /** A rule of the agent has checked the final answer. */
  "answer.validated": z.object({ ...inStep, passed: z.boolean(), reason: z.string().nullable(), ...happenedAt }),
  /** Incomplete pairs of tool_use and tool_result were repaired before a model call. */
  "transcript.repaired": z.object({ ...inStep, repairs: z.array(JsonObject), ...happenedAt }),
};
