import type { Content, Fact, FactData } from "@skein/protocol";
import { isApproval } from "../approval.ts";
import { type Tool, resultContent } from "../tool.ts";
import type { CallState, RunState, SessionState } from "../state.ts";
import { type Decision, type Effect, type View, run, sleep, write } from "./decision.ts";
import { abandoned, closed, entered } from "./facts.ts";

const UNKNOWN =
  "The outcome of this call is unknown: the process that ran it ended before the result was recorded. It may or may not have taken effect. Check before you try again.";
const CANCELLED = "The run was cancelled before this call finished.";
const NO_ANSWER = "No result returned for this tool call.";
const CUT_OFF =
  "This call was not run: the answer reached max_tokens, so its input may not be whole. Ask again with a shorter one.";
const REFUSED = "This call was not run: the model refused to go on with its answer.";
const TOO_LATE = "This call was not run: the limit of steps was reached.";

/** Calls that a dead worker left open: what may run again will, what may not is closed as unknown. */
export function orphans(state: SessionState, current: RunState): readonly Fact[] {
  const facts: Fact[] = [];
  if (current.call && current.callUnder !== current.fence) facts.push(abandoned(state, current.call));
  for (const call of current.calls) {
    if (call.phase !== "started" || call.startedUnder === current.fence) continue;
    facts.push(
      call.policy === "repeatable"
        ? started(current, call, "repeatable")
        : closed(current, call, { outcome: "unknown", content: UNKNOWN }),
    );
  }
  return facts;
}

/** The tool calls of a step: answered, started, awaited, and at last handed to the model together. */
export function decideCalls(state: SessionState, current: RunState, now: number, view: View): Decision {
  const refused = refusals(current);
  if (refused.length > 0) return write(...refused);
  const late = current.calls.filter((call) => call.awaiting === "subagent" && isLate(call, now));
  if (late.length > 0) return run(...late.map(({ toolUseId }) => cancelSubagent(toolUseId)));
  const settled = current.calls.flatMap((call) => settle(current, call, now));
  if (settled.length > 0) return write(...settled);
  const opened = openings(state, current, now, view);
  if (opened.length > 0) return write(...opened);
  if (current.calls.every(({ phase }) => phase === "done"))
    return write(entered(state, current.resultsMessageId ?? ""));
  const effects = current.calls.flatMap((call) => effectsOf(call, view.tools.get(call.name)));
  if (effects.length > 0) return run(...effects);
  const expiries = current.calls.flatMap(({ phase, expiresAt }) =>
    phase === "waiting" && expiresAt !== null ? [Date.parse(expiresAt)] : [],
  );
  return sleep(expiries.length === 0 ? null : Math.min(...expiries));
}

/** Every call that is not done gets a result, and the results enter the transcript. */
export function closeCalls(state: SessionState, current: RunState): readonly Fact[] {
  const open = current.calls.filter(({ phase }) => phase !== "done");
  if (open.length === 0) return [entered(state, current.resultsMessageId ?? "")];
  return open.flatMap((call): Fact[] => [
    ...(call.phase === "waiting" ? [resolved(current, call, "cancelled", 0)] : []),
    closed(current, call, {
      outcome: call.phase === "started" && call.policy === "once" ? "unknown" : "failed",
      content: CANCELLED,
    }),
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
  return [resolved(current, call, "cancelled", 0), closed(current, call, { outcome: "failed", content: CANCELLED })];
}

/** Calls that must not run: the last one of an answer that was cut off, those of a refusal, and of a summary, which has no tools. */
function refusals(current: RunState): readonly Fact[] {
  const refuse = (calls: readonly CallState[], content: string): readonly Fact[] =>
    calls.filter(({ phase }) => phase === "asked").map((call) => closed(current, call, { outcome: "failed", content }));
  if (current.lastPurpose === "summary") return refuse(current.calls, TOO_LATE);
  if (current.stopReason === "refusal") return refuse(current.calls, REFUSED);
  return current.stopReason === "max_tokens" ? refuse(current.calls.slice(-1), CUT_OFF) : [];
}

/** What has come of a call that waits: an answer, or the end of the time it had. */
function settle(current: RunState, call: CallState, now: number): readonly Fact[] {
  if (call.phase !== "waiting") return [];
  const waited = call.openedAt === null ? 0 : Math.max(0, now - Date.parse(call.openedAt));
  if (call.answer) return answered(current, call, waited);
  if (!isLate(call, now)) return [];
  return [
    resolved(current, call, "timed_out", waited),
    closed(current, call, { outcome: "failed", content: NO_ANSWER }),
  ];
}

function answered(current: RunState, call: CallState, waited: number): readonly Fact[] {
  const answer = call.answer as FactData<"await.answered">;
  const resolution = resolved(current, call, "answered", waited);
  if (call.awaiting === "approval") {
    if (isApproval(answer)) return [resolution];
    return [resolution, closed(current, call, { outcome: "failed", content: denial(answer.content) })];
  }
  const outcome = answer.is_error ? "failed" : "committed";
  // What somebody answers is held to the same as what a tool returns.
  const content = resultContent(answer.content);
  return [resolution, closed(current, call, { outcome, content, isError: answer.is_error })];
}

function denial(reason: Content): Content {
  return typeof reason === "string" ? `This call was not allowed. ${reason}`.trim() : reason;
}

/** Calls that nobody has begun: those of this process are started, the others are announced. */
function openings(state: SessionState, current: RunState, now: number, view: View): readonly Fact[] {
  const facts: Fact[] = [];
  const awaits: FactData<"await.opened">["awaits"] = [];
  const limit = state.agent?.max_parallel_tool_calls ?? 8;
  let running = current.calls.filter(({ phase }) => phase === "started").length;
  for (const call of current.calls) {
    if (call.phase !== "asked") continue;
    const tool = view.tools.get(call.name);
    if (!tool) {
      facts.push(closed(current, call, { outcome: "failed", content: `There is no tool named "${call.name}".` }));
      continue;
    }
    const problem = misfit(tool, call);
    if (problem !== undefined) {
      facts.push(closed(current, call, { outcome: "failed", content: problem }));
      continue;
    }
    const kind = awaited(tool, call);
    if (kind) awaits.push({ ...opening(call, tool, now), kind });
    else if (tool.executor === "backend" && running < limit) {
      running += 1;
      facts.push(started(current, call, tool.policy));
    }
  }
  if (awaits.length > 0)
    facts.push({ event_type: "await.opened", data: { run_id: current.runId, step: current.step, awaits } });
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

function opening(call: CallState, tool: Tool, now: number) {
  return {
    tool_use_id: call.toolUseId,
    name: call.name,
    input: call.input,
    expires_at: tool.timeoutMs === null ? null : new Date(now + tool.timeoutMs).toISOString(),
    session_id: null,
  };
}

function awaited(tool: Tool, call: CallState): FactData<"await.opened">["awaits"][number]["kind"] | undefined {
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

function started(current: RunState, call: CallState, policy: "once" | "repeatable"): Fact {
  return {
    event_type: "tool.started",
    data: {
      run_id: current.runId,
      step: current.step,
      tool_use_id: call.toolUseId,
      name: call.name,
      input: call.input,
      policy,
    },
  };
}

function resolved(
  current: RunState,
  call: CallState,
  resolution: FactData<"await.resolved">["resolution"],
  waitedMs: number,
): Fact {
  return {
    event_type: "await.resolved",
    data: { run_id: current.runId, step: current.step, tool_use_id: call.toolUseId, resolution, waited_ms: waitedMs },
  };
}
