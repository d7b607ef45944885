import { happenedAt } from "./happened-at.ts";
import { z } from "zod";
import { Content, ContentBlock, JsonObject } from "../content.ts";
import { Failure } from "../error.ts";
import { Uuid } from "../ids.ts";
import { CallCost, Picos, Usage } from "../usage.ts";

const Count = z.int().nonnegative();
const inStep = { run_id: Uuid, step: Count };

/** What a model call is for: a step of the loop, a summary of the run, a title, or a compaction. */
const Purpose = z.enum(["step", "summary", "title", "compaction"]);

/**
 * The known usage and cost of a call without a complete answer, and what it may have cost beyond that. Facts from
 * before 2026-11-16 have neither `estimated` nor `reserved_micros`: their cost is the most that the call can have cost.
 */
const broken = {
  /**
   * The model's own counts if the stream had them; otherwise the output tokens are estimated from the text that
   * arrived.
   */
  usage: Usage,
  cost: CallCost.nullable(),
  /** `output_tokens` is estimated, not reported by the model. */
  estimated: z.literal(true).optional(),
  /** What the call may have cost beyond `cost`. */
  reserved_micros: Count.optional(),
  /**
   * The money that is reserved for the run and for the session, this call included, and the latest time at which the
   * reservation ends.
   */
  reservation: z.object({ run_micros: Count, session_micros: Count, until: z.iso.datetime() }).optional(),
  simulated: z.literal(true).optional(),
};

/** An answer that broke off or was invalid: it still costs money. */
const Lost = z.object({ model: z.string(), ...broken });

/** The text of an answer that broke off and is not requested again. */
const interrupted = { message_id: Uuid.optional(), content: z.array(ContentBlock).optional() };

/** Model calls and the tool calls they ask for. */
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
    /** The built-in simulation is asked, not a model. */
    simulated: z.literal(true).optional(),
    ...happenedAt,
  }),
  "step.generated": z.object({
    ...inStep,
    purpose: Purpose,
    message_id: Uuid,
    /** The message that will contain the results of the calls in `content`; null when there are none. */
    results_message_id: Uuid.nullable(),
    content: z.array(ContentBlock),
    model: z.string(),
    stop_reason: z.string().nullable(),
    usage: Usage,
    /** Null if the model has no price, never 0. */
    cost: CallCost.nullable(),
    container_id: z.string().nullable(),
    duration_ms: Count,
    /** `usage` is estimated from the text that arrived, because the provider sent no counts. */
    estimated: z.literal(true).optional(),
    /** The built-in simulation answered, not a model. */
    simulated: z.literal(true).optional(),
    ...happenedAt,
  }),
  "step.retried": z.object({
    ...inStep,
    attempt: z.int().positive(),
    error: Failure,
    delay_ms: Count,
    lost: Lost.optional(),
    /** The model that is called for the rest of the run, instead of the model that failed. */
    model: z.string().optional(),
    /**
     * The provider rejected the schema of the answer: for the rest of the run, the answer is requested as a tool call.
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
  /** A model call was abandoned: its run was cancelled, or its worker died or stops. */
  "step.abandoned": z.object({
    ...inStep,
    model: z.string(),
    ...broken,
    reason: z.enum(["cancelled", "worker_lost", "handed_over"]).optional(),
    ...interrupted,
    /** Whether `content` is kept as an interrupted answer. */
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
    /** `unknown`: the call had started when its worker died, and may or may not have taken effect. */
    outcome: z.enum(["committed", "failed", "unknown"]),
    content: Content,
    is_error: z.boolean(),
    /** The message that this result belongs to, and its place among the step's calls. */
    message_id: Uuid,
    part: Count,
    duration_ms: Count,
    /** What the tool returned, for a tool with an output schema. `content` is what the model reads. */
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
        /** The session that works on the call, for a subagent. */
        session_id: Uuid.nullable(),
        /**
         * Further information for the person who decides: why the person is asked, and rules that would allow such
         * calls from now on.
         */
        about: JsonObject.optional(),
      }),
    ),
  }),
  /** An answer to an await. It is stored before the driver acts on it. */
  "await.answered": z.object({
    tool_use_id: z.string(),
    content: Content,
    is_error: z.boolean(),
    /** What a subagent and its own subagents spent. The amount counts against the budgets of the caller. */
    cost_micros: z.int().nonnegative().optional(),
    /** The exact cost, in pico-dollars. */
    cost_picos: Picos.optional(),
    /** What interrupted calls of the subagent may have cost beyond `cost_micros`. */
    reserved_micros: Count.optional(),
  }),
  "await.resolved": z.object({
    ...inStep,
    tool_use_id: z.string(),
    resolution: z.enum(["answered", "timed_out", "cancelled"]),
    waited_ms: Count,
  }),
  /** A subagent has sent its outcome to the session that called it. */
  "parent.informed": z.object({ ...inStep, session_id: Uuid, tool_use_id: z.string() }),
  /** The final answer was checked by the agent's own rule. */
  "answer.validated": z.object({ ...inStep, passed: z.boolean(), reason: z.string().nullable() }),
  /** Incomplete pairs of tool_use and tool_result were repaired before a model call. */
  "transcript.repaired": z.object({ ...inStep, repairs: z.array(JsonObject) }),
};
