import type { Fact, FactData, ModelPrice, Usage } from "@skein/protocol";
import { estimateTokens } from "../log/estimate-tokens.ts";
import { reservationFor } from "../log/reservations.ts";
import { type BrokenCall, type InterruptedAnswer, stepAbandoned } from "../run/facts/index.ts";
import type { RunState, SessionState } from "../log/state.ts";
import type { Arrived } from "../run/arriving-answer.ts";
import { callOf, modelOf } from "./request.ts";

type OpenCall = FactData<"step.started">;

/** Identifies a model call among the calls of its session. */
export function callKeyOf({ run_id, step, attempt, purpose }: OpenCall): string {
  return `${run_id}/${purpose}/${step}/${attempt}`;
}

/**
 * Makes the fact that abandons the open model call. It records the known usage and reserves what else the call may have
 * cost.
 */
export function abandonedCall(
  state: SessionState,
  run: RunState,
  {
    now,
    arrived,
    reason,
    price,
  }: {
    readonly now: number;
    readonly arrived: Arrived | undefined;
    readonly price: ModelPrice | undefined;
    readonly reason: NonNullable<FactData<"step.abandoned">["reason"]>;
  },
): Fact {
  const call = run.call as OpenCall;
  const own = arrived?.callKey === callKeyOf(call) ? arrived : undefined;
  return stepAbandoned(
    { runId: call.run_id, step: call.step },
    {
      ...brokenCall(state, call, { now, known: own, price }),
      reason,
      // Only a cancelled run keeps the incomplete answer. A run that continues calls the model again.
      answer: reason === "cancelled" ? interruptedAnswer(call, own) : undefined,
    },
  );
}

/** The known data of a call that broke off. */
type Known = Pick<Arrived, "model" | "usage" | "isCounted">;

/** Makes the data of a broken call: its known usage, and a reservation for what else it may have cost. */
export function brokenCall(
  state: SessionState,
  call: OpenCall,
  { now, known, price }: { now: number; known: Known | undefined; price: ModelPrice | undefined },
): BrokenCall {
  const model = known?.model ?? (call.model || modelOf(state));
  const usage = known?.usage ?? { input_tokens: 0, output_tokens: 0 };
  const simulated = call.simulated === true;
  if (known?.isCounted) return { model, usage, simulated, price };
  if (simulated) return { model, usage, estimated: true, simulated };
  const most = mostUsage(state, call, known);
  const reserved = reservationFor(state, { runId: call.run_id, model, known: usage, most, price, now });
  return { model, usage, estimated: true, reserved, price };
}

/**
 * Returns the text of an answer that broke off. Returns undefined if no text arrived or the answer is not part of the
 * conversation.
 */
export function interruptedAnswer(
  { purpose }: OpenCall,
  arrived: Pick<Arrived, "messageId" | "content"> | undefined,
): InterruptedAnswer | undefined {
  if (!arrived || arrived.content.length === 0 || (purpose !== "step" && purpose !== "summary")) return undefined;
  return { messageId: arrived.messageId, content: arrived.content };
}

/**
 * Returns the most that a call can have used: an answer of maximal length. If the stream reported no usage, the whole
 * request counts as a cache write.
 */
function mostUsage(state: SessionState, call: OpenCall, known: Known | undefined): Usage {
  if (known && known.model !== null)
    return { ...known.usage, output_tokens: Math.max(known.usage.output_tokens, call.max_tokens) };
  const { system, turns, tools, cache } = callOf(state, call.purpose, call.max_tokens);
  const sent = estimateTokens({ system, turns, tools });
  const written = Math.max(call.estimated_tokens, sent);
  return {
    input_tokens: 0,
    output_tokens: call.max_tokens,
    cache_creation_input_tokens: written,
    ...(cache === "long" && {
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: written },
    }),
  };
}
