import {
  type Claimed,
  type QueuedPrompt,
  type RunEnd,
  type SessionState,
  leftToSpend,
  outOfMoney,
  outOfMoneyEnd,
} from "@skein/core";
import { type ClaudeOptions, type ModelPrice, picosOfCall } from "@skein/protocol";
import type { ReportedUsage } from "../../sandboxes/model-broker/usage-of-answer.ts";
import { modelNameOf } from "./options.ts";
import type { SessionModels } from "./session-models.ts";

/** Model aliases of Claude Code. Only an answer shows which model an alias means. */
const ALIAS = /^(?:default|best|sonnet|opus|haiku|opusplan)(?:\[1m\])?$/;

/** The end of a run whose budget is used up; undefined if it is not. Claude Code's own limit counts per process, not per run. */
export function budgetEnd(
  state: SessionState,
  { now, termsOf }: { readonly now: number; readonly termsOf: SessionModels["termsOf"] },
): RunEnd | undefined {
  const { run } = state;
  if (!run) return undefined;
  const named = modelNameOf(state, run.prompt);
  const prompt = { ...run.prompt, max_cost_micros: budgetOf(state, run.prompt) };
  const model = named === null || ALIAS.test(named) ? null : named;
  return outOfMoney(state, { ...run, prompt }, { model, price: termsOf(named).price, now });
}

/** The end of a run that has reached a cap of the operator. */
export function refusedEnd({ refusal }: Pick<Claimed, "refusal">): RunEnd | undefined {
  return refusal === undefined ? undefined : outOfMoneyEnd(refusal);
}

/** Counts what a run spends through the broker, including calls that Claude Code does not report. */
export interface BudgetMeter {
  /** The reason why no further call is allowed, as a sentence. */
  refusal(): string | undefined;
  used(model: string, usage: ReportedUsage, price: ModelPrice | undefined): void;
}

/** A meter for the run that begins now. */
export function createBudgetMeter(
  log: { readonly state: SessionState },
  { now, termsOf }: { readonly now: () => number; readonly termsOf: SessionModels["termsOf"] },
): BudgetMeter {
  const { state } = log;
  const limited = state.run && {
    ...state.run,
    prompt: { ...state.run.prompt, max_cost_micros: budgetOf(state, state.run.prompt) },
  };
  const left = limited ? leftToSpend(state, limited, now()) : null;
  let spent = 0n;
  return {
    refusal() {
      if (left !== null && spent >= left)
        return "The budget of this run is spent: the model cannot be called any more.";
      return budgetEnd(log.state, { now: now(), termsOf })?.error?.message;
    },
    used(model, usage, price) {
      spent += reportedCost(model, usage, price);
    },
  };
}

/** The cost of the reported usage of a call; 0 for a model without a price. */
export function reportedCost(model: string, usage: ReportedUsage, price?: ModelPrice): bigint {
  const { input_tokens, output_tokens } = usage;
  const tokens = { ...usage, input_tokens: input_tokens ?? 0, output_tokens: output_tokens ?? 0 };
  return BigInt(picosOfCall(model, tokens, price) ?? 0);
}

/** The budget of a run, in micro-dollars: from its prompt, or from its session's options; null without a budget. */
export function budgetOf({ agent }: Pick<SessionState, "agent">, prompt: QueuedPrompt): number | null {
  const own = agent?.extras["claude"] as Partial<ClaudeOptions> | undefined;
  const changed = prompt.options as Partial<ClaudeOptions> | undefined;
  const dollars = changed?.max_budget_usd ?? own?.max_budget_usd;
  return prompt.max_cost_micros ?? (dollars ? Math.floor(dollars * 1_000_000) : null);
}
