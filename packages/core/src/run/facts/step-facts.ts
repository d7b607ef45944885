import {
  type Content,
  type ContentBlock,
  type FactData,
  type Failure,
  type ModelPrice,
  type Usage,
  freeCall,
  isToolUse,
} from "@skein/protocol";
import { costOf } from "../rules.ts";
import { type FactOf, type Place, inStep } from "./place.ts";

/** Makes the fact `step.started`. It is stored before the model is called, so that no call is forgotten. */
export function stepStarted(
  place: Place,
  call: Omit<FactData<"step.started">, "run_id" | "step">,
): FactOf<"step.started"> {
  return {
    event_type: "step.started",
    data: {
      ...inStep(place),
      attempt: call.attempt,
      purpose: call.purpose,
      model: call.model,
      max_tokens: call.max_tokens,
      thinking_tokens: call.thinking_tokens,
      tools_count: call.tools_count,
      messages_count: call.messages_count,
      estimated_tokens: call.estimated_tokens,
      ...(call.simulated && { simulated: true }),
    },
  };
}

/** An answer of a model. */
export interface Reply {
  readonly messageId: string;
  /** Makes the id of the message for the results of tool calls. Not called if the answer has no tool calls. */
  readonly resultsMessageId: () => string;
  readonly content: readonly ContentBlock[];
  readonly model: string;
  readonly stopReason: string | null;
  readonly usage: Usage;
  readonly containerId?: string | null;
  readonly durationMs: number;
  /** The price that the operator set for the model. If it is missing, the table of known prices is used. */
  readonly price?: ModelPrice | undefined;
  /** The counts are estimated, because the provider sent no counts. */
  readonly estimated?: true;
  /** The built-in simulation answered instead of a model, at no cost. */
  readonly simulated?: boolean;
}

export function stepGenerated(
  place: Place,
  purpose: FactData<"step.generated">["purpose"],
  reply: Reply,
): FactOf<"step.generated"> {
  const content = [...reply.content];
  return {
    event_type: "step.generated",
    data: {
      ...inStep(place),
      purpose,
      message_id: reply.messageId,
      results_message_id: content.some(isToolUse) ? reply.resultsMessageId() : null,
      content,
      model: reply.model,
      stop_reason: reply.stopReason,
      usage: reply.usage,
      cost: costOfReply(reply),
      container_id: reply.containerId ?? null,
      duration_ms: reply.durationMs,
      ...(reply.estimated && { estimated: true as const }),
      ...(reply.simulated && { simulated: true }),
    },
  };
}

/** Returns the cost of a reply. Estimated counts get no cost, because they may lack tokens that the provider bills. */
function costOfReply(reply: Reply) {
  return reply.estimated && !reply.simulated ? null : priceOf(reply);
}

/**
 * Makes the facts of a step that ran in another program, for example in Claude Code. Only the reply is known, so the
 * beginning of the step is recorded together with the reply.
 */
export function observedStep(
  place: Place,
  { reply, attempt, messages, tokens }: { reply: Reply; attempt: number; messages: number; tokens: number },
): readonly [FactOf<"step.started">, FactOf<"step.generated">] {
  const started = stepStarted(place, {
    attempt,
    purpose: "step",
    model: reply.model,
    max_tokens: 0,
    thinking_tokens: 0,
    tools_count: 0,
    messages_count: messages,
    estimated_tokens: tokens,
    ...(reply.simulated && { simulated: true }),
  });
  return [started, stepGenerated(place, "step", reply)];
}

/** A model call without a complete answer. */
export interface BrokenCall {
  readonly model: string;
  /** The known usage. */
  readonly usage: Usage;
  /** Whether the output tokens were estimated from the text that arrived. */
  readonly estimated?: boolean;
  readonly reserved?: Pick<FactData<"step.abandoned">, "reserved_micros" | "reservation"> | undefined;
  readonly simulated?: boolean;
  readonly price?: ModelPrice | undefined;
}

/** The text of an answer that broke off and is not requested again. */
export interface InterruptedAnswer {
  readonly messageId: string;
  readonly content: readonly ContentBlock[];
}

/** The attempt after a failed attempt. */
interface NextAttempt {
  readonly attempt: number;
  readonly delayMs: number;
  /** Another model that is used from now on. */
  readonly model?: string;
  /** How an answer with an output schema is requested from now on. */
  readonly output?: "tool";
}

interface FailedCall {
  readonly error: Failure;
  /** The call whose answer is not used, although it costs money. */
  readonly lost?: BrokenCall | undefined;
}

/** Makes the fact `step.retried`: a model call failed and is retried later. */
export function stepRetried(
  place: Place,
  { attempt, error, delayMs, lost, model, output }: FailedCall & NextAttempt,
): FactOf<"step.retried"> {
  return {
    event_type: "step.retried",
    data: {
      ...inStep(place),
      attempt,
      error,
      delay_ms: delayMs,
      ...(lost && { lost: paid(lost) }),
      ...(model !== undefined && { model }),
      ...(output && { output }),
    },
  };
}

/** Makes the fact `step.error`: a model call failed and is not retried. */
export function stepFailed(
  place: Place,
  {
    error,
    durationMs,
    lost,
    answer,
  }: FailedCall & { readonly durationMs: number; readonly answer?: InterruptedAnswer | undefined },
): FactOf<"step.error"> {
  return {
    event_type: "step.error",
    data: { ...inStep(place), error, duration_ms: durationMs, ...(lost && { lost: paid(lost) }), ...kept(answer) },
  };
}

/** Makes the fact `step.abandoned`: a model call broke off. The transcript gets at most the text that had arrived. */
export function stepAbandoned(
  place: Place,
  call: BrokenCall & {
    readonly reason?: FactData<"step.abandoned">["reason"];
    readonly answer?: InterruptedAnswer | undefined;
  },
): FactOf<"step.abandoned"> {
  const { reason, answer } = call;
  return {
    event_type: "step.abandoned",
    data: {
      ...inStep(place),
      ...paid(call),
      ...(reason && { reason }),
      ...kept(answer),
      ...(answer && { interrupted: true }),
    },
  };
}

function paid({ model, usage, estimated, reserved, simulated, price }: BrokenCall) {
  return {
    model,
    usage,
    cost: priceOf({ model, usage, simulated, price }),
    ...(estimated && { estimated: true as const }),
    ...reserved,
    ...(simulated && { simulated: true as const }),
  };
}

function priceOf({
  model,
  usage,
  simulated,
  price,
}: Pick<Reply, "model" | "usage" | "price"> & { readonly simulated?: boolean | undefined }) {
  return simulated ? freeCall(model) : costOf(model, usage, price);
}

function kept(answer: InterruptedAnswer | undefined) {
  return answer && { message_id: answer.messageId, content: [...answer.content] };
}

/**
 * Makes the fact `subagent.messaged`, with a message of a subagent inside the runtime. `usage` is null if the usage was
 * counted already.
 */
export function subagentMessaged(message: {
  readonly runId: string;
  readonly messageId: string;
  readonly parentToolUseId: string;
  readonly role: "user" | "assistant";
  readonly content: Content;
  readonly model: string | null;
  readonly usage: Usage | null;
  readonly simulated?: boolean;
  readonly price?: ModelPrice | undefined;
}): FactOf<"subagent.messaged"> {
  const { model, usage, simulated, price } = message;
  return {
    event_type: "subagent.messaged",
    data: {
      run_id: message.runId,
      message_id: message.messageId,
      parent_tool_use_id: message.parentToolUseId,
      role: message.role,
      content: message.content,
      model,
      usage,
      cost: usage && model !== null ? priceOf({ model, usage, simulated, price }) : null,
      ...(usage && simulated && { simulated: true }),
    },
  };
}
