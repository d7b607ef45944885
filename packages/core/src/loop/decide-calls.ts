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
  "This call was not run: the answer reached max_tokens, so its input may not be whole. Ask again with a shorter one.";
const REFUSED = "This call was not run: the model refused to go on with its answer.";
const TOO_LATE = "This call was not run: the limit of steps was reached.";

/** Calls that a dead worker left open: what may run again will, what may not is closed as unknown. */
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

/** The tool calls of a step: answered, started, awaited, and at last handed to the model together. */
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
  const effects = current.calls.flatMap((call) => effectsOf(call, view.tools.get(call.name)));
  if (effects.length > 0) return runEffects(...effects);
  const expiries = current.calls.flatMap(({ phase, expiresAt }) =>
    phase === "waiting" && expiresAt !== null ? [Date.parse(expiresAt)] : [],
  );
  return sleepUntil(expiries.length === 0 ? null : Math.min(...expiries));
}

/** The run ends: every call that is not done gets a result, and the results enter the transcript. */
export function closeCalls(state: SessionState, current: RunState, stopReason: StopReason): readonly Fact[] {
  const open = current.calls.filter(({ phase }) => phase !== "done");
  if (open.length === 0) return [messageEntered(state, current.resultsMessageId ?? "")];
  return open.flatMap((call): Fact[] => [
    ...(call.phase === "waiting" ? [unanswered(current, call)] : []),
    toolClosed(current, call, resultAtEnd(call, stopReason)),
  ]);
}

/** Nobody waits for these any more: they are told to stop before the run that began them ends. */
export function waitingSubagents(current: RunState): readonly Effect[] {
  return current.calls
    .filter(({ phase, awaiting, answer }) => phase === "waiting" && awaiting === "subagent" && !answer)
    .map(({ toolUseId }) => cancelSubagent(toolUseId));
}

function cancelSubagent(toolUseId: string): Effect {
  return { kind: "cancel-subagent", key: `cancel/${toolUseId}`, toolUseId };
}

/** Whether the time of a call that waits is over. */
function isLate({ phase, answer, expiresAt }: CallState, now: number): boolean {
  return phase === "waiting" && !answer && expiresAt !== null && Date.parse(expiresAt) <= now;
}

/** The end of a call whose subagent was told to stop: its run ends before it, or its time is over. */
export function cancelledCall(current: RunState, call: CallState, now: number): readonly Fact[] {
  if (isLate(call, now)) return settle(current, call, now);
  return [unanswered(current, call), toolClosed(current, call, CANCELLED_RESULT)];
}

/** Nobody waits for this answer any more. */
function unanswered(current: RunState, { toolUseId }: CallState): Fact {
  return awaitResolved(current, toolUseId, { resolution: "cancelled", waitedMs: 0 });
}

/** Calls that must not run: the last one of an answer that was cut off, those of a refusal, and of a summary, which has no tools. */
function refusals(current: RunState): readonly Fact[] {
  const refuse = (calls: readonly CallState[], content: string): readonly Fact[] =>
    calls
      .filter(({ phase }) => phase === "asked")
      .map((call) => toolClosed(current, call, { outcome: "failed", content }));
  if (current.lastPurpose === "summary") return refuse(current.calls, TOO_LATE);
  if (current.stopReason === "refusal") return refuse(current.calls, REFUSED);
  return current.stopReason === "max_tokens" ? refuse(current.calls.slice(-1), CUT_OFF) : [];
}

/** What has come of a call that waits: an answer, or the end of the time it had. */
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
  // What somebody answers is held to the same as what a tool returns.
  const content = resultContent(answer.content);
  return [resolution, toolClosed(current, call, { outcome, content, isError: answer.is_error })];
}

function denial(reason: Content): Content {
  return typeof reason === "string" ? `This call was not allowed. ${reason}`.trim() : reason;
}

/** Calls that nobody has begun: those of this process are started, the others are announced. */
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
    const kind = awaited(tool, call);
    if (kind) awaits.push({ ...call, kind, expiresAt: tool.timeoutMs === null ? null : now + tool.timeoutMs });
    else if (tool.executor === "backend" && running < limit) {
      running += 1;
      facts.push(toolStarted(current, call, tool.policy));
    }
  }
  if (awaits.length > 0) facts.push(awaitOpened(current, awaits));
  return facts;
}

/** A call that does not fit its schema is not begun, and nobody is asked about it. */
function misfit(tool: Tool, call: CallState): string | undefined {
  try {
    tool.parse(call.input);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function awaited(tool: Tool, call: CallState): OpenedAwait["kind"] | undefined {
  if (!call.approved && tool.needsApproval(call.input)) return "approval";
  if (tool.executor === "frontend") return "frontend_tool";
  return tool.executor === "question" ? "question" : undefined;
}

/** A subagent is begun before it is waited for: its id is derived from the call, so it cannot be begun twice. */
function effectsOf(call: CallState, tool: Tool | undefined): readonly Effect[] {
  const { toolUseId } = call;
  if (call.phase === "started") return [{ kind: "run-tool", key: `tool/${toolUseId}`, toolUseId }];
  if (call.phase === "asked" && tool?.executor === "subagent")
    return [{ kind: "start-subagent", key: `subagent/${toolUseId}`, toolUseId }];
  return [];
}
