import {
  type Claimed,
  type QueuedPrompt,
  type RunEnd,
  type SessionState,
  outOfMoney,
  outOfMoneyEnd,
} from "@skein/core";
import type { ClaudeOptions } from "@skein/protocol";
import { modelNameOf } from "./options.ts";

/** Names that Claude Code itself turns into a model: only an answer says which one. */
const ALIAS = /^(?:default|best|sonnet|opus|haiku|opusplan)(?:\[1m\])?$/;

/** The end of a run that may not spend any more; undefined while it may. Claude Code's own limit counts a process, not a run. */
export function budgetEnd(state: SessionState, now: number): RunEnd | undefined {
  const { run } = state;
  if (!run) return undefined;
  const named = modelNameOf(state, run.prompt);
  const prompt = { ...run.prompt, max_cost_micros: budgetOf(state, run.prompt) };
  return outOfMoney(state, { ...run, prompt }, { model: named === null || ALIAS.test(named) ? null : named, now });
}

/** The end of a run that a cap of the operator lets spend nothing more. */
export function refusedEnd({ refusal }: Pick<Claimed, "refusal">): RunEnd | undefined {
  return refusal === undefined ? undefined : outOfMoneyEnd(refusal);
}

/** What a run may cost, in millionths of a dollar: as its prompt says, or as its session's options do; null without a limit. */
export function budgetOf({ agent }: Pick<SessionState, "agent">, prompt: QueuedPrompt): number | null {
  const own = agent?.extras["claude"] as Partial<ClaudeOptions> | undefined;
  const changed = prompt.options as Partial<ClaudeOptions> | undefined;
  const dollars = changed?.max_budget_usd ?? own?.max_budget_usd;
  return prompt.max_cost_micros ?? (dollars ? Math.floor(dollars * 1_000_000) : null);
}
