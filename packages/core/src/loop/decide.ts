import { type Fact, KnownError, type Message, type StopReason, textOf } from "@skein/protocol";
import { type RunState, type SessionState, contextOf } from "../state.ts";
import { needsSummary, spentOut, startStep, stepToRun } from "./decide-step.ts";
import { closeCalls, decideCalls, orphans, waitingSubagents } from "./decide-calls.ts";
import { type Decision, type Effect, type View, run, sleep, write } from "./decision.ts";
import { brokenPairs, hasResults } from "./doctor.ts";
import { abandoned, completed, entered, failed, noticed, resumed } from "./facts.ts";

/** Five times taken up without getting any further: the run itself must be what kills its workers. */
const POISON_AFTER = 5;

/** A server that dies again and again must not fill the log. */
const MAX_NOTICES = 100;

/** What should happen now. Pure: the same state, time and view always give the same answer. */
export function decide(state: SessionState, now: number, view: View): Decision {
  if (!state.run) return nextRun(state);
  const { runId } = state.run;
  const decision = decideRun(state, state.run, now, view);
  // What one run wanted is not what the next one wants, even if it goes by the same name.
  return { ...decision, effects: decision.effects.map((effect) => ({ ...effect, key: `${runId}/${effect.key}` })) };
}

function decideRun(state: SessionState, current: RunState, now: number, view: View): Decision {
  if (view.startedHere !== current.runId && current.fence !== view.fence) return write(resumed(current, view.fence));
  if (current.resumesWithoutProgress > POISON_AFTER)
    return end(state, current, now, {
      stopReason: "poisoned",
      code: "poisoned",
      message: `The run was taken up ${current.resumesWithoutProgress} times without getting any further.${because(view)}`,
    });
  // Before the orphans: a cancelled run begins nothing again.
  if (isCancelled(state, current))
    return end(state, current, now, {
      stopReason: "cancelled",
      code: "cancelled",
      message: current.cancelReason ?? "The run was cancelled.",
    });
  const lost = orphans(state, current);
  if (lost.length > 0) return write(...lost);
  if (current.failure)
    return end(state, current, now, { stopReason: stopReasonOf(current.failure.code), ...current.failure });
  if (current.replyId) return write(entered(state, current.replyId));
  if (Object.hasOwn(state.pending, current.prompt.message_id)) return write(entered(state, current.prompt.message_id));
  const news = view.notices.slice(0, MAX_NOTICES).filter((text) => !current.noticed.includes(text));
  if (news.length > 0) return write(...news.map((text) => noticed(current, text)));
  if (view.problem !== undefined)
    return end(state, current, now, { stopReason: "error", code: "agent_unusable", message: view.problem });
  if (current.calls.length > 0) return decideCalls(state, current, now, view);
  if (current.files.length > 0)
    return run(...current.files.map(({ fileId }): Effect => ({ kind: "store-file", key: `file/${fileId}`, fileId })));
  const steering = state.queue.find(({ mode }) => mode === "steer");
  if (steering && !current.call) return write(entered(state, steering.message_id));
  if (current.call) return run(modelCall(current));
  return hasReplied(state, current) ? decideReply(state, current, now, view) : decideStep(state, current, now, view);
}

function because({ lastProblem }: View): string {
  return lastProblem === undefined ? "" : ` The last time it ended with: ${lastProblem}`;
}

/** The prompt that interrupts, or the one that waits longest, opens the next run; with none, the session sleeps. */
export function nextRun(state: SessionState): Decision {
  const prompt = state.queue.find(({ mode }) => mode === "interrupt") ?? state.queue[0];
  if (!prompt) return sleep(null);
  if (!state.agent) throw new KnownError("store_corrupt", `Session ${state.sessionId} has no agent.`);
  const { run_id, message_id, content } = prompt;
  const started: Fact = {
    event_type: "session.started",
    data: { run_id, message_id, user_message: textOf(content), formatter: state.agent.formatter },
  };
  return write(started);
}

/** A cancel of this run, or a prompt that wants to take its place. */
function isCancelled(state: SessionState, current: RunState): boolean {
  return current.cancelRequested || state.queue.some(({ mode }) => mode === "interrupt");
}

function hasReplied(state: SessionState, current: RunState): boolean {
  if (!current.stepDone || current.step === 0) return false;
  const last = state.transcript.at(-1);
  // A summary or a refusal that asked for tools all the same got its results; nobody reads them.
  const isLast = current.lastPurpose === "summary" || current.stopReason === "refusal";
  return last?.role === "assistant" || (isLast && last !== undefined && hasResults(last));
}

/** The model has answered and asked for nothing: is that the end? */
function decideReply(state: SessionState, current: RunState, now: number, view: View): Decision {
  const { stopReason } = current;
  const complete = (reason: StopReason): Decision => finish(state, now, view, reason);
  if (current.lastPurpose === "summary") return complete("max_steps");
  if (stopReason === "pause_turn") return decideStep(state, current, now, view);
  if (stopReason === "refusal") return complete("refusal");
  if (stopReason === "max_tokens") return complete("max_tokens");
  if (stopReason === "model_context_window_exceeded")
    return end(state, current, now, {
      stopReason: "context_window_exceeded",
      code: "context_window_exceeded",
      message: "The conversation no longer fits into the model's context window.",
    });
  if (view.validates && !current.answerValid) {
    if (current.validationFailures >= view.maxValidationFailures)
      return end(state, current, now, {
        stopReason: "error",
        code: "validation_failed",
        message: `The final answer failed its check ${current.validationFailures} times.`,
      });
    return run({ kind: "validate", key: `validate/${current.step}` });
  }
  return complete(stopReason === "stop_sequence" ? "stop_sequence" : "end_turn");
}

/** What still belongs to a run before it is over. */
function finish(state: SessionState, now: number, view: View, stopReason: StopReason): Decision {
  const current = state.run as RunState;
  if (view.remembers && !current.memoryUpdated) return run({ kind: "update-memory", key: "memory/update" });
  const wantsTitle = state.agent?.generate_title && state.title === null && !current.titleTried;
  if (wantsTitle && spentOut(state, current) === undefined)
    return waitForRetry(current, now) ?? startStep(state, current, "title");
  if (state.subagentOf && !current.parentInformed) return run({ kind: "inform-parent", key: "parent", problem: null });
  return write(completed(current, { stopReason, finalResponse: finalResponse(state), now }));
}

function decideStep(state: SessionState, current: RunState, now: number, view: View): Decision {
  const waiting = waitForRetry(current, now);
  if (waiting) return waiting;
  if (view.remembers && !current.memoryRetrieved) return run({ kind: "retrieve-memory", key: "memory/retrieve" });
  const purpose = stepToRun(state, current);
  if (purpose === "summary" && !current.exhausted)
    return write({
      event_type: "steps.exhausted",
      data: { run_id: current.runId, step: current.step, max_steps: state.agent?.max_steps ?? 0 },
    });
  const repairs = current.repaired ? [] : brokenPairs(contextOf(state));
  if (repairs.length > 0)
    return write({
      event_type: "transcript.repaired",
      data: { run_id: current.runId, step: current.step, repairs: [...repairs] },
    });
  const broke = spentOut(state, current);
  if (state.agent?.compactor_type !== "none" && !current.compactionChecked) {
    if (!needsSummary(state)) return run({ kind: "compact", key: `compact/${current.step}` });
    // A summary is a call like any other: without the money for it the run is over.
    if (!broke) return startStep(state, current, "compaction");
  }
  if (broke) return end(state, current, now, { stopReason: "budget", code: "budget_exceeded", message: broke });
  return startStep(state, current, purpose);
}

/** A call that failed for now is made again, but not before its time. */
function waitForRetry(current: RunState, now: number): Decision | undefined {
  const retryAt = current.retryAt === null ? 0 : Date.parse(current.retryAt);
  return retryAt > now ? run({ kind: "wait", key: `retry/${current.retryAt}`, until: retryAt }) : undefined;
}

function modelCall(current: RunState): Effect {
  const { call } = current;
  return { kind: "call-model", key: `model/${call?.purpose}/${call?.step}/${call?.attempt}` };
}

/** Ends a run that did not complete: every call gets its result, so that the transcript stays valid. */
function end(
  state: SessionState,
  current: RunState,
  now: number,
  {
    stopReason,
    code,
    message,
    status,
  }: { stopReason: StopReason; code: string; message: string; status?: number | undefined },
): Decision {
  if (current.replyId) return write(entered(state, current.replyId));
  if (current.call) return write(abandoned(state, current.call));
  const children = waitingSubagents(current);
  if (children.length > 0) return run(...children);
  if (current.calls.length > 0) return write(...closeCalls(state, current));
  if (state.subagentOf && !current.parentInformed)
    return run({ kind: "inform-parent", key: "parent", problem: message });
  return write(failed(current, { stopReason, error: { code, message, ...(status !== undefined && { status }) }, now }));
}

function stopReasonOf(code: string): StopReason {
  if (code === "context_window_exceeded") return "context_window_exceeded";
  return code === "budget_exceeded" ? "budget" : "error";
}

/** The text of the last answer: everything after its last tool block. */
export function finalResponse(state: SessionState): string {
  const last = state.transcript.findLast((message: Message) => message.role === "assistant");
  if (!last) return "";
  if (typeof last.content === "string") return last.content;
  const lastTool = last.content.findLastIndex(({ type }) => type.includes("tool"));
  return textOf(last.content.slice(lastTool + 1));
}
