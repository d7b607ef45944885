import { type RunEnd, type SessionState, outOfMoney } from "@skein/core";
import { modelNameOf } from "./options.ts";

/** Names that Claude Code itself turns into a model: only an answer says which one. */
const ALIAS = /^(?:default|best|sonnet|opus|haiku|opusplan)(?:\[1m\])?$/;

/** The end of a run that may not spend any more; undefined while it may. Claude Code's own limit counts a process, not a run. */
export function budgetEnd(state: SessionState, now: number): RunEnd | undefined {
  const { run } = state;
  if (!run) return undefined;
  const named = modelNameOf(state, run.prompt);
  return outOfMoney(state, run, { model: named === null || ALIAS.test(named) ? null : named, now });
}
