import { type Fact, priceCall } from "@skein/protocol";
import { type RunState, type SessionState, contextOf } from "../state.ts";
import { type Decision, run, write } from "./decision.ts";
import { modelOf, outputLimit } from "./request.ts";

type Purpose = "step" | "summary" | "title" | "compaction";

/** What the next model call is for: a step, or the summary when the steps are used up. */
export function stepToRun(state: SessionState, current: RunState): "step" | "summary" {
  const next = current.stepDone ? current.step + 1 : current.step;
  return next > (state.agent?.max_steps ?? 50) ? "summary" : "step";
}

/** The summarising compactor asks the model, so its work is a call like any other. */
export function needsSummary(state: SessionState): boolean {
  return state.agent?.compactor_type === "summarize" && state.contextTokens > state.agent.compaction_threshold;
}

/** The intent to call the model, with what it may use. Written down first, so that a call can never be forgotten. */
export function startStep(state: SessionState, current: RunState, purpose: Purpose): Decision {
  const { agent } = state;
  if (!agent) return run();
  const ownStep = purpose === "step" || purpose === "summary";
  const step = ownStep && current.stepDone ? current.step + 1 : current.step;
  const started: Fact = {
    event_type: "step.started",
    data: {
      run_id: current.runId,
      step,
      attempt: current.attempts + 1,
      purpose,
      model: modelOf(state),
      max_tokens: purpose === "title" ? 64 : affordable(state, current),
      thinking_tokens: agent.thinking_tokens,
      tools_count: agent.tool_schemas.length + agent.server_tools.length,
      messages_count: contextOf(state).length,
      estimated_tokens: state.contextTokens,
    },
  };
  return write(started);
}

/** Why no further call may be made, if money is what stops it. */
export function spentOut(state: SessionState, current: RunState): string | undefined {
  for (const [what, spent, limit] of budgets(state, current))
    if (spent >= limit) return `The ${what} may cost ${dollars(limit)}, and ${dollars(spent)} is spent.`;
  const limited = leftToSpend(state, current) !== Number.POSITIVE_INFINITY;
  // Nobody could say when a limit is reached, so none is promised.
  if (limited && !priceCall(modelOf(state), { input_tokens: 1, output_tokens: 0 }))
    return `The model ${modelOf(state)} has no price, so no limit of cost can be kept. Take the limit away, or name a model that has one.`;
  return affordable(state, current) < 1
    ? "What is left of the budget does not pay for another call of the model."
    : undefined;
}

/** The most tokens that the answer may have: what the agent allows, cut down to what the budget still pays for. */
function affordable(state: SessionState, current: RunState): number {
  const limit = state.agent ? outputLimit(state.agent) : 1;
  const left = leftToSpend(state, current);
  if (left === Number.POSITIVE_INFINITY) return limit;
  const input = priceCall(modelOf(state), { input_tokens: state.contextTokens, output_tokens: 0 });
  const output = priceCall(modelOf(state), { input_tokens: 0, output_tokens: 1_000_000 });
  if (!input || !output) return limit;
  return Math.min(limit, Math.floor((left - input.total_micros) / (output.total_micros / 1e6)));
}

/** What the budgets of the run and of its session leave, subagents included. Infinity without a budget. */
export function leftToSpend(state: SessionState, current: RunState): number {
  return Math.min(...budgets(state, current).map(([, spent, most]) => most - spent));
}

function budgets(state: SessionState, current: RunState): readonly (readonly [string, number, number])[] {
  const spent = ({ costMicros, delegatedMicros }: SessionState | RunState): number => costMicros + delegatedMicros;
  return [
    ["run", spent(current), current.prompt.max_cost_micros ?? Number.POSITIVE_INFINITY],
    ["session", spent(state), state.agent?.max_cost_micros ?? Number.POSITIVE_INFINITY],
  ];
}

function dollars(micros: number): string {
  return `$${(micros / 1e6).toFixed(6)}`;
}
