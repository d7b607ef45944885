import { type Fact, type FactData, type Usage, exactCost, microsOf, priceCall } from "@skein/protocol";
import { estimateTokens } from "../log/estimate-tokens.ts";
import { reservationOf } from "../log/reservations.ts";
import { type BrokenCall, type InterruptedAnswer, stepAbandoned } from "../run/facts/index.ts";
import type { RunState, SessionState } from "../log/state.ts";
import type { Arrived } from "../run/arriving-answer.ts";
import { modelOf, requestOf } from "./request.ts";

type OpenCall = FactData<"step.started">;

/** The key of a model call among the calls of its session. */
export function callKeyOf({ run_id, step, attempt, purpose }: OpenCall): string {
  return `${run_id}/${purpose}/${step}/${attempt}`;
}

/** The open model call is given up. What is known of it is its usage; what else it may have cost is reserved. */
export function abandonedCall(
  state: SessionState,
  run: RunState,
  {
    now,
    arrived,
    reason,
  }: {
    readonly now: number;
    readonly arrived: Arrived | undefined;
    readonly reason: NonNullable<FactData<"step.abandoned">["reason"]>;
  },
): Fact {
  const call = run.call as OpenCall;
  const own = arrived?.callKey === callKeyOf(call) ? arrived : undefined;
  return stepAbandoned(
    { runId: call.run_id, step: call.step },
    {
      ...brokenCall(state, call, { now, known: own }),
      reason,
      // A run that goes on asks again, and its next answer takes the place of this one.
      answer: reason === "cancelled" ? interruptedAnswer(call, own) : undefined,
    },
  );
}

/** What is known of a call without a whole answer. */
type Known = Pick<Arrived, "model" | "usage" | "isCounted">;

/** A call without a whole answer: the counts that are known, and the rest that it may have cost as a reservation. */
export function brokenCall(
  state: SessionState,
  call: OpenCall,
  { now, known }: { readonly now: number; readonly known: Known | undefined },
): BrokenCall {
  const model = known?.model ?? (call.model || modelOf(state));
  const usage = known?.usage ?? { input_tokens: 0, output_tokens: 0 };
  const simulated = call.simulated === true;
  if (known?.isCounted) return { model, usage, simulated };
  if (simulated) return { model, usage, estimated: true, simulated };
  const micros = possibleRest(model, usage, mostUsage(state, call, known));
  const reserved = micros > 0 ? reservationOf(state, { runId: call.run_id, micros, now }) : undefined;
  return { model, usage, estimated: true, reserved };
}

/** The text of an answer that broke off, if it has any and belongs to the conversation. */
export function interruptedAnswer(
  { purpose }: OpenCall,
  arrived: Pick<Arrived, "messageId" | "content"> | undefined,
): InterruptedAnswer | undefined {
  if (!arrived || arrived.content.length === 0 || (purpose !== "step" && purpose !== "summary")) return undefined;
  return { messageId: arrived.messageId, content: arrived.content };
}

/** The most that a call can have used: the answer as long as it may be; without a word of the stream, the whole request written to the cache. */
function mostUsage(state: SessionState, call: OpenCall, known: Known | undefined): Usage {
  if (known && known.model !== null)
    return { ...known.usage, output_tokens: Math.max(known.usage.output_tokens, call.max_tokens) };
  const sent = estimateTokens(requestOf(state, call.purpose, call.max_tokens).body);
  return {
    input_tokens: 0,
    output_tokens: call.max_tokens,
    cache_creation_input_tokens: Math.max(call.estimated_tokens, sent),
  };
}

/** What the most costs beyond what is known, in micro-dollars; 0 for a model without a price. */
function possibleRest(model: string, known: Usage, most: Usage): number {
  const [least, limit] = [priceCall(model, known), priceCall(model, most)];
  return least && limit ? microsOf(exactCost(limit).total - exactCost(least).total) : 0;
}
