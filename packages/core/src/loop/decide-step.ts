import { affordableTokens, outOfMoneyEnd, outOfMoney } from "../run/budget.ts";
import { stepStarted } from "../run/facts/index.ts";
import type { RunEnd } from "../run/rules.ts";
import { type RunState, type SessionState, contextOf } from "../log/state.ts";
import { compactionThreshold } from "./compaction.ts";
import { type Decision, type View, appendFacts, runEffects, sleepUntil } from "./decision.ts";
import { modelOf, outputLimit } from "./request.ts";

type Purpose = "step" | "summary" | "title" | "compaction";

/** Returns the purpose of the next model call: a step, or the summary if no steps are left. */
export function stepToRun(state: SessionState, current: RunState): "step" | "summary" {
  const next = current.stepDone ? current.step + 1 : current.step;
  return next > (state.agent?.max_steps ?? 50) ? "summary" : "step";
}

/** Whether the next model call must be a compaction, because the agent's compactor asks the model for a summary. */
export function needsSummary(state: SessionState, { contextWindow }: View["model"]): boolean {
  return state.agent?.compactor_type === "summarize" && state.contextTokens > compactionThreshold(state, contextWindow);
}

/** Records the intent and the limits of a model call before the call, so that a call is never forgotten. */
export function startStep(
  state: SessionState,
  current: RunState,
  { purpose, now, model, spending }: NextStep & Pick<View, "spending"> & { readonly purpose: Purpose },
): Decision {
  const { agent } = state;
  if (!agent) return runEffects();
  const most = purpose === "step" ? (current.modelHook?.maxTokens ?? Infinity) : Infinity;
  const wanted = purpose === "title" ? 64 : Math.min(most, affordable(state, current, { now, model }));
  const key = spendKey(current, purpose);
  const paid = spending?.(key);
  if (spending && !paid) return runEffects({ kind: "reserve-spend", key, maxTokens: wanted });
  // The session is released, and the next worker asks people before it continues.
  if (paid?.kind === "ask") return sleepUntil(now);
  const ownStep = purpose === "step" || purpose === "summary";
  const step = ownStep && current.stepDone ? current.step + 1 : current.step;
  return appendFacts(
    stepStarted(
      { runId: current.runId, step },
      {
        attempt: current.attempts + 1,
        purpose,
        model: modelOf(state),
        max_tokens: paid?.kind === "granted" ? Math.min(wanted, paid.maxTokens) : wanted,
        thinking_tokens: agent.thinking_tokens,
        tools_count: agent.tool_schemas.length + agent.server_tools.length,
        messages_count: contextOf(state).length,
        estimated_tokens: state.contextTokens,
        ...(model.simulated && { simulated: true }),
      },
    ),
  );
}

/** The name under which money is reserved for a model call. */
function spendKey({ step, stepDone, attempts }: RunState, purpose: Purpose): string {
  return `spend/${step}/${stepDone}/${purpose}/${attempts}`;
}

interface NextStep {
  readonly now: number;
  readonly model: View["model"];
}

/** Returns the end of a run that cannot pay for the next model call; undefined if the run can pay. */
export function cannotPay(
  state: SessionState,
  current: RunState,
  next: NextStep & Pick<View, "spending" | "refusal"> & { readonly purpose: Purpose },
): RunEnd | undefined {
  const broke = outOfMoney(state, current, { model: modelOf(state), price: next.model.price, now: next.now });
  if (broke) return broke;
  if (next.refusal !== undefined) return outOfMoneyEnd(next.refusal);
  const paid = next.spending?.(spendKey(current, next.purpose));
  if (paid?.kind === "refused") return outOfMoneyEnd(paid.sentence);
  // People are not asked to pay for a title alone.
  if (paid?.kind === "ask" && next.purpose === "title") return outOfMoneyEnd("");
  return affordable(state, current, next) < 1
    ? outOfMoneyEnd("The rest of the budget does not pay for another call of the model.")
    : undefined;
}

function affordable(state: SessionState, current: RunState, { now, model }: NextStep): number {
  const limit = state.agent ? outputLimit(state.agent) : 1;
  return affordableTokens(state, current, { model: modelOf(state), price: model.price, limit, now });
}
