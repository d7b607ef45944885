import { type ModelPrice, PICOS_PER_MICRO, exactCost, priceCall } from "@skein/protocol";
import { reservedMicros } from "../log/reservations.ts";
import type { RunState, SessionState } from "../log/state.ts";
import { type RunEnd, endWith } from "./rules.ts";

/** What is known about the next model call. */
export interface NextCall {
  /** The model of the call. Null if only the answer will name the model, as for Claude Code's "default". */
  readonly model: string | null;
  /** The price that the operator set for the model. */
  readonly price?: ModelPrice | undefined;
  /** The time of the call. It is needed because reservations expire after a day. */
  readonly now: number;
}

/**
 * Returns the end of a run that may not spend more, because of its own budget or the budget of its session. Undefined
 * if the run may continue.
 */
export function outOfMoney(state: SessionState, run: RunState, next: NextCall): RunEnd | undefined {
  const message = spentOut(state, run, next);
  return message === undefined ? undefined : outOfMoneyEnd(message);
}

/** Ends a run because of its budget. `message` says why. */
export function outOfMoneyEnd(message: string): RunEnd {
  return endWith({ code: "budget_exceeded", message });
}

/** Returns why the budget allows no further call, as a sentence. Undefined if the budget allows a call. */
function spentOut(state: SessionState, run: RunState, { model, price, now }: NextCall): string | undefined {
  const limited = budgets(state, run, now).filter(({ limit }) => limit !== null);
  for (const { of, spent, reserved, limit } of limited)
    if (limit !== null && spent + reserved >= limit)
      return `The ${of} has a budget of ${dollars(limit)}, and ${dollars(spent)} is spent${held(reserved)}.`;
  if (limited.length === 0) return undefined;
  // Without a price it is unknown when the limit is reached.
  if (model !== null && !price && !hasPrice(model))
    return `The model ${model} has no price, so the budget cannot be enforced. Remove the budget, or use a model that has a price.`;
  const unknown = limited.find(({ unpriced }) => unpriced > 0);
  if (!unknown) return undefined;
  return `The ${unknown.of} called a model that has no price, so the budget cannot be enforced. Remove the budget, or use a model that has a price.`;
}

function held(reserved: bigint): string {
  return reserved === 0n ? "" : ` and ${dollars(reserved)} is reserved for calls that broke off`;
}

/**
 * Returns the most tokens that the next answer may have. This is `limit`, or less if the budget does not pay for
 * `limit`.
 */
export function affordableTokens(
  state: SessionState,
  run: RunState,
  { model, price, limit, now }: NextCall & { readonly model: string; readonly limit: number },
): number {
  const left = leftToSpend(state, run, now);
  if (left === null) return limit;
  const input = priceCall(model, { input_tokens: state.contextTokens, output_tokens: 0 }, price);
  const output = priceCall(model, { input_tokens: 0, output_tokens: 1 }, price);
  if (!input || !output) return limit;
  return Math.min(limit, Number((left - exactCost(input).total) / exactCost(output).total));
}

/**
 * Returns what is left of the budgets of the run and its session, in pico-dollars. The smaller amount counts. Costs of
 * subagents and reservations count as spent. Null without a budget.
 */
export function leftToSpend(state: SessionState, run: RunState, now: number): bigint | null {
  const left = budgets(state, run, now).flatMap(({ spent, reserved, limit }) =>
    limit === null ? [] : [limit - spent - reserved],
  );
  return left.length === 0 ? null : left.reduce((least, one) => (one < least ? one : least));
}

/** Amounts are in pico-dollars. */
interface Budget {
  readonly of: "run" | "session";
  readonly spent: bigint;
  /** What interrupted calls may have cost beyond `spent`. */
  readonly reserved: bigint;
  readonly limit: bigint | null;
  /** Calls whose cost is not in `spent`, because their model has no price. */
  readonly unpriced: number;
}

function budgets(state: SessionState, run: RunState, now: number): readonly Budget[] {
  const budget = (used: SessionState | RunState, limit: number | null | undefined, reserved: number) => ({
    spent: BigInt(used.costPicos) + BigInt(used.delegatedPicos),
    reserved: BigInt(reserved) * PICOS_PER_MICRO,
    limit: limit === null || limit === undefined ? null : BigInt(limit) * PICOS_PER_MICRO,
    unpriced: used.unpricedCalls,
  });
  return [
    { of: "run", ...budget(run, run.prompt.max_cost_micros, reservedMicros(state, now, run.runId)) },
    { of: "session", ...budget(state, state.agent?.max_cost_micros, reservedMicros(state, now)) },
  ];
}

function hasPrice(model: string): boolean {
  return priceCall(model, { input_tokens: 1, output_tokens: 0 }) !== undefined;
}

/** Formats an amount for a sentence. */
export function dollars(picos: bigint): string {
  return `$${(Number(picos) / 1e12).toFixed(6)}`;
}
