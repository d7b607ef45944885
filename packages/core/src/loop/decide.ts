import { KnownError, type StopReason } from "@skein/protocol";
import {
  messageEntered,
  runCompleted,
  runFailed,
  runResumed,
  runStarted,
  stepsExhausted,
  toolsNoticed,
  transcriptRepaired,
} from "../run/facts/index.ts";
import { type RunEnd, endWith, finalResponse, forcedEnd, nextPrompt, stopReasonOf } from "../run/rules.ts";
import { reservedMicros } from "../log/reservations.ts";
import { jsonTextIn } from "../model/output-schema.ts";
import { type RunState, type SessionState, contextOf } from "../log/state.ts";
import { abandonedCall } from "./abandoned-call.ts";
import { closeCalls, decideCalls, orphans, waitingSubagents } from "./decide-calls.ts";
import { cannotPay, needsSummary, startStep, stepToRun } from "./decide-step.ts";
import { type Decision, type Effect, type View, appendFacts, runEffects, sleepUntil, stepName } from "./decision.ts";
import { brokenPairs, hasResults } from "./tool-pairs.ts";

/** The most notices in a run, so that a tool server that fails repeatedly cannot fill the log. */
const MAX_NOTICES = 100;

/** Decides what happens next. The same state, time and view always give the same decision. */
export function decide(state: SessionState, now: number, view: View): Decision {
  if (!state.run) return isAnother(state, view) ? sleepUntil(now) : nextRun(state);
  const { runId } = state.run;
  const decision = decideRun(state, state.run, now, view);
  // The key of every effect contains the id of the run, so that an effect is never mistaken for an effect of the next
  // run.
  return { ...decision, effects: decision.effects.map((effect) => ({ ...effect, key: `${runId}/${effect.key}` })) };
}

function decideRun(state: SessionState, current: RunState, now: number, view: View): Decision {
  // A resumed run belongs to the worker that resumed it last, and no longer to the worker that started it.
  const isOwn = current.fence === 0 ? view.startedHere === current.runId : current.fence === view.fence;
  if (isOwn) return decideOwn(state, current, now, view);
  // A run that only waits is not resumed. If it were, every prompt during the wait would count as a dead worker.
  const next = decideOwn(state, { ...current, fence: view.fence }, now, view);
  return next.sleep ? next : appendFacts(runResumed(current, view.fence));
}

/** Decides about a run that this driver has started or resumed. */
function decideOwn(state: SessionState, current: RunState, now: number, view: View): Decision {
  // The end of the run is checked before open calls of dead workers, so that a cancelled run repeats no call.
  const over = forcedEnd(state, current, view.lastProblem);
  if (over) return end(state, current, { now, view }, over);
  const lost = orphans(state, current, { now, price: view.model.price });
  if (lost.length > 0) return appendFacts(...lost);
  if (current.failure) return end(state, current, { now, view }, endWith(current.failure));
  if (current.replyId) return appendFacts(messageEntered(state, current.replyId));
  if (Object.hasOwn(state.pending, current.prompt.message_id))
    return appendFacts(messageEntered(state, current.prompt.message_id));
  const news = view.notices.slice(0, MAX_NOTICES).filter((text) => !current.noticed.includes(text));
  if (news.length > 0) return appendFacts(...news.map((text) => toolsNoticed(current, text)));
  if (view.problem !== undefined)
    return end(state, current, { now, view }, endWith({ code: "agent_unusable", message: view.problem }));
  if (current.calls.length > 0) return decideCalls(state, current, now, view);
  if (current.files.length > 0)
    return runEffects(
      ...current.files.map(({ fileId }): Effect => ({ kind: "store-file", key: `file/${fileId}`, fileId })),
    );
  const steering = state.queue.find(({ mode }) => mode === "steer");
  if (steering && !current.call) return appendFacts(messageEntered(state, steering.message_id));
  if (current.call) return runEffects(modelCall(current));
  return hasReplied(state, current) ? decideReply(state, current, now, view) : decideStep(state, current, now, view);
}

/** Returns whether the next run differs from `onlyRun`, the only run that this driver may begin. */
function isAnother(state: SessionState, { onlyRun }: View): boolean {
  const prompt = nextPrompt(state);
  return onlyRun !== undefined && prompt !== undefined && prompt.run_id !== onlyRun;
}

/** Starts a run with the next prompt. Without a prompt, the session sleeps. */
export function nextRun(state: SessionState): Decision {
  const prompt = nextPrompt(state);
  if (!prompt) return sleepUntil(null);
  if (!state.agent) throw new KnownError("store_corrupt", `Session ${state.sessionId} has no agent.`);
  return appendFacts(runStarted(prompt, state.agent.formatter));
}

function hasReplied(state: SessionState, current: RunState): boolean {
  if (!current.stepDone || current.step === 0) return false;
  const last = state.transcript.at(-1);
  // Calls in a summary or a refusal get results, but no further model call reads the results.
  const isLast = current.lastPurpose === "summary" || current.stopReason === "refusal";
  return last?.role === "assistant" || (isLast && last !== undefined && hasResults(last));
}

/** Decides whether an answer without tool calls ends the run. */
function decideReply(state: SessionState, current: RunState, now: number, view: View): Decision {
  const { stopReason } = current;
  const complete = (reason: StopReason): Decision => finish(state, now, view, reason);
  if (current.lastPurpose === "summary") return notTyped(state, "max_steps", { now, view }) ?? complete("max_steps");
  if (stopReason === "pause_turn") return decideStep(state, current, now, view);
  if (stopReason === "refusal" || stopReason === "max_tokens")
    return notTyped(state, stopReason, { now, view }) ?? complete(stopReasonOf(stopReason));
  if (stopReason === "model_context_window_exceeded")
    return end(
      state,
      current,
      { now, view },
      endWith({
        code: "context_window_exceeded",
        message: "The conversation no longer fits into the model's context window.",
      }),
    );
  if (view.validates && !current.answerValid) {
    // The model may correct its answer `maxValidationFailures` times. The last correction is validated too.
    const { validationFailures } = current;
    if (validationFailures > view.maxValidationFailures)
      return end(
        state,
        current,
        { now, view },
        endWith({
          code: "validation_failed",
          message: `The final answer failed its check ${validationFailures} times. The last time: ${current.validationProblem ?? "no reason"}`,
        }),
      );
    const asksAgain = validationFailures < view.maxValidationFailures;
    return runEffects({ kind: "validate", key: `validate/${current.step}`, asksAgain });
  }
  return complete(stopReasonOf(stopReason));
}

/**
 * Fails the run if its agent has an output schema, because an answer that was cut off does not fit the schema. Returns
 * undefined for an agent without a schema.
 */
function notTyped(
  state: SessionState,
  why: keyof typeof UNFINISHED,
  at: { readonly now: number; readonly view: View },
): Decision | undefined {
  if (!state.agent?.output_schema) return undefined;
  const message = `The run has no answer that fits its output schema: ${UNFINISHED[why]}.`;
  return end(state, state.run as RunState, at, endWith({ code: "validation_failed", message }));
}

const UNFINISHED = {
  refusal: "the model refused to answer",
  max_tokens: "the answer reached max_tokens",
  max_steps: "its steps were used up",
};

/** Decides about the last effects of a run (title, memory). After these effects, ends the run. */
function finish(state: SessionState, now: number, view: View, stopReason: StopReason): Decision {
  const current = state.run as RunState;
  if (view.remembers && !current.memoryUpdated) return runEffects({ kind: "update-memory", key: "memory/update" });
  const wantsTitle = state.agent?.generate_title && state.title === null && !current.titleTried;
  if (wantsTitle && !cannotPay(state, current, { ...view, now, purpose: "title" }))
    return waitForRetry(current, now) ?? startStep(state, current, { ...view, purpose: "title", now });
  if (state.subagentOf && !current.parentInformed)
    return runEffects({ kind: "inform-parent", key: "parent", problem: null });
  return appendFacts(runCompleted(current, { stopReason, finalResponse: toldResponse(state), now }));
}

/** Returns the answer of the run. If the agent has an output schema, returns only the JSON of the answer. */
function toldResponse(state: SessionState): string {
  const answer = finalResponse(state);
  return (state.agent?.output_schema && jsonTextIn(answer)) || answer;
}

function decideStep(state: SessionState, current: RunState, now: number, view: View): Decision {
  const waiting = waitForRetry(current, now);
  if (waiting) return waiting;
  if (view.remembers && !current.memoryRetrieved)
    return runEffects({ kind: "retrieve-memory", key: "memory/retrieve" });
  const purpose = stepToRun(state, current);
  if (purpose === "summary" && !current.exhausted)
    return appendFacts(stepsExhausted(current, state.agent?.max_steps ?? 0));
  const repairs = current.repaired ? [] : brokenPairs(contextOf(state));
  if (repairs.length > 0) return appendFacts(transcriptRepaired(current, repairs));
  if (state.agent?.compactor_type !== "none" && !current.compactionChecked) {
    if (!needsSummary(state, view.model)) return runEffects({ kind: "compact", key: `compact/${current.step}` });
    // A compaction costs money too. If the budget does not pay for a compaction, the run ends.
    const cannotCompact = cannotPay(state, current, { ...view, now, purpose: "compaction" });
    if (cannotCompact) return end(state, current, { now, view }, cannotCompact);
    return startStep(state, current, { ...view, purpose: "compaction", now });
  }
  const broke = cannotPay(state, current, { ...view, now, purpose });
  if (broke) return end(state, current, { now, view }, broke);
  if (view.hooks?.beforeModelCall && !current.modelHook && !view.checks?.seen.has(stepName(current)))
    return runEffects({ kind: "hook-model", key: `hook/${stepName(current)}` });
  const refusal = current.modelHook?.refusal;
  if (refusal !== undefined)
    return end(state, current, { now, view }, endWith({ code: "hook_refused", message: refusal }));
  return startStep(state, current, { ...view, purpose, now });
}

/** Waits until a failed call may be tried again. */
function waitForRetry(current: RunState, now: number): Decision | undefined {
  const retryAt = current.retryAt === null ? 0 : Date.parse(current.retryAt);
  return retryAt > now ? runEffects({ kind: "wait", key: `retry/${current.retryAt}`, until: retryAt }) : undefined;
}

function modelCall(current: RunState): Effect {
  const { call } = current;
  return { kind: "call-model", key: `model/${call?.purpose}/${call?.step}/${call?.attempt}` };
}

/** Ends a run that did not complete. Every call gets a result, so that the transcript stays valid. */
function end(
  state: SessionState,
  current: RunState,
  { now, view }: { readonly now: number; readonly view: View },
  { stopReason, error }: RunEnd,
): Decision {
  if (current.replyId) return appendFacts(messageEntered(state, current.replyId));
  if (current.call) {
    const reason = stopReason === "cancelled" ? "cancelled" : "worker_lost";
    return appendFacts(
      abandonedCall(state, current, { now, arrived: view.arrived?.(), reason, price: view.model.price }),
    );
  }
  const children = waitingSubagents(current);
  if (children.length > 0) return runEffects(...children);
  if (current.calls.length > 0) return appendFacts(...closeCalls(state, current, stopReason));
  if (state.subagentOf && !current.parentInformed)
    return runEffects({ kind: "inform-parent", key: "parent", problem: error.message });
  const reserved = reservedMicros(state, now, current.runId);
  return appendFacts(runFailed(current, { stopReason, error, now, reservedMicros: reserved }));
}
