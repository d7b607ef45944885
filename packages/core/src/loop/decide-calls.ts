import type { Content, Fact, FactData, ModelPrice, StopReason } from "@skein/protocol";
import { isApproval } from "../run/approval.ts";
import {
  type OpenedAwait,
  awaitOpened,
  awaitResolved,
  messageEntered,
  toolClosed,
  toolStarted,
} from "../run/facts/index.ts";
import { CANCELLED_RESULT, LOST_RESULT, resultAtEnd } from "../run/rules.ts";
import type { CallState, RunState, SessionState } from "../log/state.ts";
import { type Tool, resultContent } from "../ports/tool.ts";
import { abandonedCall } from "./abandoned-call.ts";
import { type Decision, type Effect, type View, appendFacts, runEffects, sleepUntil } from "./decision.ts";

const NO_ANSWER = "No result returned for this tool call.";
const CUT_OFF =
  "This call was not run: the answer reached max_tokens, so its input may be incomplete. Ask again with a shorter input.";
const REFUSED = "This call was not run: the model refused to go on with its answer.";
const TOO_LATE = "This call was not run: the limit of steps was reached.";

/**
 * Makes the facts for the calls that a dead worker left open: the model call is abandoned, repeatable tool calls are
 * started again, and any other tool call gets an unknown outcome.
 */
export function orphans(
  state: SessionState,
  current: RunState,
  { now, price }: { readonly now: number; readonly price: ModelPrice | undefined },
): readonly Fact[] {
  const facts: Fact[] = [];
  if (current.call && current.callUnder !== current.fence)
    facts.push(abandonedCall(state, current, { now, arrived: undefined, reason: "worker_lost", price }));
  for (const call of current.calls) {
    if (call.phase !== "started" || call.startedUnder === current.fence) continue;
    facts.push(
      call.policy === "repeatable" ? toolStarted(current, call, "repeatable") : toolClosed(current, call, LOST_RESULT),
    );
  }
  return facts;
}

/**
 * Decides what happens next with the tool calls of a step. The results enter the transcript together, when the last
 * call has its result.
 */
export function decideCalls(state: SessionState, current: RunState, now: number, view: View): Decision {
  const refused = refusals(current);
  if (refused.length > 0) return appendFacts(...refused);
  const late = current.calls.filter((call) => call.awaiting === "subagent" && isLate(call, now));
  if (late.length > 0) return runEffects(...late.map(({ toolUseId }) => cancelSubagent(toolUseId)));
  const settled = current.calls.flatMap((call) => settle(current, call, now));
  if (settled.length > 0) return appendFacts(...settled);
  const opened = openings(state, current, now, view);
  if (opened.length > 0) return appendFacts(...opened);
  if (current.calls.every(({ phase }) => phase === "done"))
    return appendFacts(messageEntered(state, current.resultsMessageId ?? ""));
  const effects = current.calls.flatMap((call) => effectsOf(call, view.tools.get(call.name), view));
  if (effects.length > 0) return runEffects(...effects);
  const expiries = current.calls.flatMap(({ phase, expiresAt }) =>
    phase === "waiting" && expiresAt !== null ? [Date.parse(expiresAt)] : [],
  );
  return sleepUntil(expiries.length === 0 ? null : Math.min(...expiries));
}

/** Closes the calls of a run that ends. Every open call gets a result, and the results enter the transcript. */
export function closeCalls(state: SessionState, current: RunState, stopReason: StopReason): readonly Fact[] {
  const open = current.calls.filter(({ phase }) => phase !== "done");
  if (open.length === 0) return [messageEntered(state, current.resultsMessageId ?? "")];
  return open.flatMap((call): Fact[] => [
    ...(call.phase === "waiting" ? [unanswered(current, call)] : []),
    toolClosed(current, call, resultAtEnd(call, stopReason)),
  ]);
}

/** Effects that stop the subagents of a run that ends. */
export function waitingSubagents(current: RunState): readonly Effect[] {
  return current.calls
    .filter(({ phase, awaiting, answer }) => phase === "waiting" && awaiting === "subagent" && !answer)
    .map(({ toolUseId }) => cancelSubagent(toolUseId));
}

function cancelSubagent(toolUseId: string): Effect {
  return { kind: "cancel-subagent", key: `cancel/${toolUseId}`, toolUseId };
}

/** Whether a waiting call has reached its time limit. */
function isLate({ phase, answer, expiresAt }: CallState, now: number): boolean {
  return phase === "waiting" && !answer && expiresAt !== null && Date.parse(expiresAt) <= now;
}

/**
 * Makes the facts that end a call whose subagent was stopped, because the run ends or the call has reached its time
 * limit.
 */
export function cancelledCall(current: RunState, call: CallState, now: number): readonly Fact[] {
  if (isLate(call, now)) return settle(current, call, now);
  return [unanswered(current, call), toolClosed(current, call, CANCELLED_RESULT)];
}

/** Ends the wait of a call that gets no answer. */
function unanswered(current: RunState, { toolUseId }: CallState): Fact {
  return awaitResolved(current, toolUseId, { resolution: "cancelled", waitedMs: 0 });
}

/**
 * Makes results for calls that must not run: the last call of a truncated answer, and all calls in a refusal or
 * summary.
 */
function refusals(current: RunState): readonly Fact[] {
  const refuse = (calls: readonly CallState[], content: string): readonly Fact[] =>
    calls
      .filter(({ phase }) => phase === "asked")
      .map((call) => toolClosed(current, call, { outcome: "failed", content }));
  if (current.lastPurpose === "summary") return refuse(current.calls, TOO_LATE);
  if (current.stopReason === "refusal") return refuse(current.calls, REFUSED);
  return current.stopReason === "max_tokens" ? refuse(current.calls.slice(-1), CUT_OFF) : [];
}

/** Makes the facts of a waiting call that was answered or has reached its time limit. */
function settle(current: RunState, call: CallState, now: number): readonly Fact[] {
  if (call.phase !== "waiting") return [];
  const waitedMs = call.openedAt === null ? 0 : Math.max(0, now - Date.parse(call.openedAt));
  if (call.answer) return answered(current, call, waitedMs);
  if (!isLate(call, now)) return [];
  return [
    awaitResolved(current, call.toolUseId, { resolution: "timed_out", waitedMs }),
    toolClosed(current, call, { outcome: "failed", content: NO_ANSWER }),
  ];
}

function answered(current: RunState, call: CallState, waitedMs: number): readonly Fact[] {
  const answer = call.answer as FactData<"await.answered">;
  const resolution = awaitResolved(current, call.toolUseId, { resolution: "answered", waitedMs });
  if (call.awaiting === "approval") {
    if (isApproval(answer)) return [resolution];
    return [resolution, toolClosed(current, call, { outcome: "failed", content: denial(answer.content) })];
  }
  const outcome = answer.is_error ? "failed" : "committed";
  // The content of an answer has the same limits as the result of a tool.
  const content = resultContent(answer.content);
  return [resolution, toolClosed(current, call, { outcome, content, isError: answer.is_error })];
}

function denial(reason: Content): Content {
  return typeof reason === "string" ? `This call was not allowed. ${reason}`.trim() : reason;
}

/**
 * Makes the facts for calls that have not begun. Tools of this process are started. Calls that need a person or the
 * client become awaits. Subagents are started by effects.
 */
function openings(state: SessionState, current: RunState, now: number, view: View): readonly Fact[] {
  const facts: Fact[] = [];
  const awaits: OpenedAwait[] = [];
  const limit = state.agent?.max_parallel_tool_calls ?? 8;
  let running = current.calls.filter(({ phase }) => phase === "started").length;
  for (const call of current.calls) {
    if (call.phase !== "asked") continue;
    const tool = view.tools.get(call.name);
    if (!tool) {
      facts.push(toolClosed(current, call, { outcome: "failed", content: `There is no tool named "${call.name}".` }));
      continue;
    }
    const problem = misfit(tool, call);
    if (problem !== undefined) {
      facts.push(toolClosed(current, call, { outcome: "failed", content: problem }));
      continue;
    }
    if (call.hook?.decision === "deny") {
      const content = call.hook.reason ?? "A hook refused this call.";
      facts.push(toolClosed(current, call, { outcome: "failed", content }));
      continue;
    }
    if (pendingCheck(call, tool, view)) continue;
    const kind = awaited(tool, call, view);
    if (kind) awaits.push({ ...call, kind, expiresAt: tool.timeoutMs === null ? null : now + tool.timeoutMs });
    else if (tool.executor === "backend" && running < limit) {
      running += 1;
      facts.push(toolStarted(current, call, tool.policy));
    }
  }
  if (awaits.length > 0) facts.push(awaitOpened(current, awaits));
  return facts;
}

/**
 * Returns what is wrong with the input of a call, as a sentence. Such a call is not run, and nobody is asked to approve
 * it.
 */
function misfit(tool: Tool, call: CallState): string | undefined {
  try {
    tool.parse(call.input);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Returns the check that a call still needs before it begins. It is the hook of the agent, or an asynchronous rule
 * about approvals.
 */
function pendingCheck(call: CallState, tool: Tool, view: View): Effect | undefined {
  const { toolUseId } = call;
  const { checks } = view;
  // The hook saw the call before a person was asked. The hook sees the call again only if the person changed the input.
  const isSeen = call.hook !== null || (call.approved && !call.isChanged) || checks?.seen.has(toolUseId);
  if (view.hooks?.beforeToolCall && !isSeen) return { kind: "hook-call", key: `hook/${toolUseId}`, toolUseId };
  if (call.approved || call.hook?.decision === "ask" || !checks || checks.approvals.has(toolUseId)) {
    const isOpen = !call.approved && checks?.approvals.get(toolUseId) instanceof Promise;
    return isOpen ? { kind: "check-approval", key: `approval/${toolUseId}`, toolUseId } : undefined;
  }
  checks.approvals.set(toolUseId, tool.needsApproval(call.input));
  return pendingCheck(call, tool, view);
}

function awaited(tool: Tool, call: CallState, { checks }: View): OpenedAwait["kind"] | undefined {
  if (!call.approved && (call.hook?.decision === "ask" || asksPeople(tool, call, checks))) return "approval";
  if (tool.executor === "frontend") return "frontend_tool";
  return tool.executor === "question" ? "question" : undefined;
}

/** Returns whether people are asked about a call. A rule that has not decided yet counts as yes. */
function asksPeople(tool: Tool, call: CallState, checks: View["checks"]): boolean {
  return (checks?.approvals.get(call.toolUseId) ?? tool.needsApproval(call.input)) !== false;
}

/** The effects of a call. Starting a subagent twice is harmless, because its id is derived from the call. */
function effectsOf(call: CallState, tool: Tool | undefined, view: View): readonly Effect[] {
  const { toolUseId } = call;
  const check = call.phase === "asked" && tool ? pendingCheck(call, tool, view) : undefined;
  if (check) return [check];
  if (call.phase === "started") return [{ kind: "run-tool", key: `tool/${toolUseId}`, toolUseId }];
  if (call.phase === "asked" && tool?.executor === "subagent")
    return [{ kind: "start-subagent", key: `subagent/${toolUseId}`, toolUseId }];
  return [];
}
