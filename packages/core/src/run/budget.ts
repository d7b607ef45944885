import { priceCall } from "@skein/protocol";
import type { RunState, SessionState } from "../log/state.ts";
import { type RunEnd, endWith } from "./rules.ts";

/** What is known of the next call of the model before it is made. */
export interface NextCall {
  /** Its model; null where only the answer says which one it was, as for Claude Code's "default". */
  readonly model: string | null;
}

/** The end of a run that may not spend any more; undefined while it may. Both the limit of the run and that of its session hold. */
export function outOfMoney(state: SessionState, run: RunState, next: NextCall): RunEnd | undefined {
  const message = spentOut(state, run, next);
  return message === undefined ? undefined : outOfMoneyEnd(message);
}

/** The end of a run whose budget stops it, with the sentence that says why. */
export function outOfMoneyEnd(message: string): RunEnd {
  return endWith({ code: "budget_exceeded", message });
}

/** Why no further call may be made, if money is what stops it. */
function spentOut(state: SessionState, run: RunState, { model }: NextCall): string | undefined {
  const limited = budgets(state, run).filter(({ limit }) => limit !== Number.POSITIVE_INFINITY);
  for (const { of, spent, limit } of limited)
    if (spent >= limit) return `The ${of} may cost ${dollars(limit)}, and ${dollars(spent)} is spent.`;
  if (limited.length === 0) return undefined;
  // Nobody could say when a limit is reached, so none is promised.
  if (model !== null && !hasPrice(model))
    return `The model ${model} has no price, so no limit of cost can be kept. Take the limit away, or name a model that has one.`;
  const unknown = limited.find(({ unpriced }) => unpriced > 0);
  if (!unknown) return undefined;
  return `The ${unknown.of} made a call of a model that has no price, so no limit of cost can be kept. Take the limit away, or name a model that has one.`;
}

/** The most tokens that the next answer may have: at most `limit`, cut down to what the budget still pays for. */
export function affordableTokens(
  state: SessionState,
  run: RunState,
  { model, limit }: { readonly model: string; readonly limit: number },
): number {
  const left = leftToSpend(state, run);
  if (left === Number.POSITIVE_INFINITY) return limit;
  const input = priceCall(model, { input_tokens: state.contextTokens, output_tokens: 0 });
  const output = priceCall(model, { input_tokens: 0, output_tokens: 1_000_000 });
  if (!input || !output) return limit;
  return Math.min(limit, Math.floor((left - input.total_micros) / (output.total_micros / 1e6)));
}

/** What the budgets of the run and of its session leave, subagents included. Infinity without a budget. */
export function leftToSpend(state: SessionState, run: RunState): number {
  return Math.min(...budgets(state, run).map(({ spent, limit }) => limit - spent));
}

interface Budget {
  readonly of: "run" | "session";
  readonly spent: number;
  readonly limit: number;
  /** Calls whose cost is not in `spent`, because their model has no price. */
  readonly unpriced: number;
}

function budgets(state: SessionState, run: RunState): readonly Budget[] {
  const budget = (of: Budget["of"], used: SessionState | RunState, limit: number | null | undefined): Budget => ({
    of,
    spent: used.costMicros + used.delegatedMicros,
    limit: limit ?? Number.POSITIVE_INFINITY,
    unpriced: used.unpricedCalls,
  });
  return [budget("run", run, run.prompt.max_cost_micros), budget("session", state, state.agent?.max_cost_micros)];
}

function hasPrice(model: string): boolean {
  return priceCall(model, { input_tokens: 1, output_tokens: 0 }) !== undefined;
}

function dollars(micros: number): string {
  return `$${(micros / 1e6).toFixed(6)}`;
}
