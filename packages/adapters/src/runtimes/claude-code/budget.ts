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

/** Model aliases of Claude Code. Skein learns the model of an alias only from an answer. */
const ALIAS = /^(?:default|best|sonnet|opus|haiku|opusplan)(?:\[1m\])?$/;

/**
 * Returns the end of a run if its budget is used up, or undefined. Claude Code's limit cannot be used, because
 * Claude Code counts per process.
 */
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

/** Returns the end of a run if it has reached a cap of the operator. */
export function refusedEnd({ refusal }: Pick<Claimed, "refusal">): RunEnd | undefined {
  return refusal === undefined ? undefined : outOfMoneyEnd(refusal);
}

/**
 * Counts the cost of a run's model calls that pass the model broker (Skein's proxy to the provider), including calls
 * that Claude Code does not report.
 */
export interface BudgetMeter {
  /** Returns the reason, as a sentence, if no further model call is allowed. */
  refusal(): string | undefined;
  used(model: string, usage: ReportedUsage, price: ModelPrice | undefined): void;
}

/** Creates a meter for the run that begins now. */
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

/**
 * Returns the cost of a model call with the reported usage, in pico-dollars (10⁻¹² $). Returns 0 for a model without a
 * price.
 */
export function reportedCost(model: string, usage: ReportedUsage, price?: ModelPrice): bigint {
  const { input_tokens, output_tokens } = usage;
  const tokens = { ...usage, input_tokens: input_tokens ?? 0, output_tokens: output_tokens ?? 0 };
  return BigInt(picosOfCall(model, tokens, price) ?? 0);
}

/** Returns the budget of a run in micro-dollars, or null. The prompt has priority over the options of the session. */
export function budgetOf({ agent }: Pick<SessionState, "agent">, prompt: QueuedPrompt): number | null {
  const own = agent?.extras["claude"] as Partial<ClaudeOptions> | undefined;
  const changed = prompt.options as Partial<ClaudeOptions> | undefined;
  const dollars = changed?.max_budget_usd ?? own?.max_budget_usd;
  return prompt.max_cost_micros ?? (dollars ? Math.floor(dollars * 1_000_000) : null);
}
