import {
  type AgentConfig,
  type CallCost,
  type Event,
  NO_USAGE,
  type UsageTotals,
  addUsage,
  exactCost,
  microsOf,
} from "@skein/protocol";
import type { History, Report, StoredSession } from "./history.ts";

/** Checks I2, I3, I6, I7, I12, I13 and I16 in the log of every session. */
export function checkLogs(history: History, report: Report): void {
  for (const session of history.sessions) {
    checkNumbers(session, report);
    const end = walk(session, report);
    if (!history.mustFinish) continue;
    if (end.open !== null)
      report("I16", `Run ${end.open} of session ${session.sessionId} has not ended.`, { session: session.sessionId });
    for (const messageId of end.waiting)
      report("I16", `Prompt ${messageId} of session ${session.sessionId} was accepted but never read.`, { messageId });
  }
}

function checkNumbers({ events, sessionId }: StoredSession, report: Report): void {
  const ids = new Set<string>();
  for (const [index, event] of events.entries()) {
    if (event.sequence !== index + 1) {
      const sentence = `Session ${sessionId}: event ${event.sequence} is at place ${index + 1}.`;
      report("I3", sentence, { event });
      break;
    }
    if (event.session_id !== sessionId)
      report("I3", `An event of session ${event.session_id} is in the log of ${sessionId}.`, { event });
  }
  for (const event of events) {
    if (ids.has(event.id)) report("I2", `Session ${sessionId}: event ${event.id} is stored twice.`, { event });
    ids.add(event.id);
  }
}

/** The state of a check that reads a log from its start. */
interface Walk {
  readonly sessionId: string;
  readonly report: Report;
  open: string | null;
  readonly started: Set<string>;
  readonly ended: Set<string>;
  /**
   * For the id of each run: the events that cancelled or interrupted it, as a map from the run that the event names to
   * the sequence of the event.
   */
  readonly stopped: Map<string, Map<string, number>>;
  /** Accepted prompts that have not entered the transcript: message id by run id. */
  readonly waiting: Map<string, string>;
  callsOpen: number;
  runtime: AgentConfig["runtime"];
  usage: UsageTotals;
  cost: bigint;
}

function walk(session: StoredSession, report: Report): { open: string | null; waiting: readonly string[] } {
  const state: Walk = {
    sessionId: session.sessionId,
    report,
    open: null,
    started: new Set(),
    ended: new Set(),
    stopped: new Map(),
    waiting: new Map(),
    callsOpen: 0,
    runtime: "loop",
    usage: NO_USAGE,
    cost: 0n,
  };
  for (const event of session.events) take(state, event);
  return { open: state.open, waiting: [...state.waiting.values()] };
}

function take(state: Walk, event: Event): void {
  const { report, sessionId } = state;
  switch (event.event_type) {
    case "session.created":
      state.runtime = event.data.agent.runtime;
      return;
    case "prompt.accepted":
      state.waiting.set(event.data.run_id, event.data.message_id);
      if (event.data.mode === "interrupt" && state.open !== null) stop(state, state.open, event);
      return;
    case "cancel.requested": {
      const { run_id } = event.data;
      if (!state.ended.has(run_id)) stop(state, run_id, event);
      if (state.started.has(run_id)) return;
      state.waiting.delete(run_id);
      // If the run of an interrupting prompt is cancelled before it starts, the prompt interrupts nothing.
      if (state.open !== null && state.open !== run_id) state.stopped.get(state.open)?.delete(run_id);
      return;
    }
    case "session.started":
      startRun(state, event);
      return;
    case "message.created":
      for (const [run, message] of state.waiting) if (message === event.data.message_id) state.waiting.delete(run);
      checkRun(state, event, event.data.run_id);
      return;
    case "session.completed":
    case "session.failed":
      endRun(state, event);
      return;
    case "step.started":
      checkRun(state, event, event.data.run_id);
      checkNotStopped(state, event, event.data.run_id);
      state.callsOpen += 1;
      return;
    case "step.retried":
    case "step.error":
      checkRun(state, event, event.data.run_id);
      // Claude Code reports a failed attempt before it reports that the step began.
      state.callsOpen = Math.max(0, state.callsOpen - 1);
      if (event.data.lost) {
        state.usage = addUsage(state.usage, event.data.lost.usage);
        state.cost += picosOf(event.data.lost.cost);
      }
      return;
    case "step.generated":
    case "step.abandoned":
      checkRun(state, event, event.data.run_id);
      // Claude Code reports a model call only after its answer, so the log has no `step.started` for an abandoned call.
      if (state.callsOpen < 1 && !(event.event_type === "step.abandoned" && state.runtime === "claude-code"))
        report("I12", `Session ${sessionId}: event ${event.sequence} counts a model call that was counted before.`, {
          event,
        });
      state.callsOpen = Math.max(0, state.callsOpen - 1);
      state.usage = addUsage(state.usage, event.data.usage);
      state.cost += picosOf(event.data.cost);
      return;
    case "subagent.messaged":
      checkRun(state, event, event.data.run_id);
      if (event.data.usage) state.usage = addUsage(state.usage, event.data.usage);
      state.cost += picosOf(event.data.cost);
      return;
    case "tool.started":
      checkRun(state, event, event.data.run_id);
      checkNotStopped(state, event, event.data.run_id);
      return;
    default:
      if ("run_id" in event.data && typeof event.data.run_id === "string") checkRun(state, event, event.data.run_id);
  }
}

function stop(
  { stopped }: Walk,
  runId: string,
  event: Extract<Event, { event_type: "cancel.requested" | "prompt.accepted" }>,
): void {
  const reasons = stopped.get(runId) ?? new Map<string, number>();
  stopped.set(runId, reasons.set(event.data.run_id, event.sequence));
}

function stoppedAt({ stopped }: Walk, runId: string): number | undefined {
  return stopped.get(runId)?.values().next().value;
}

function startRun(state: Walk, event: Extract<Event, { event_type: "session.started" }>): void {
  const { run_id } = event.data;
  const { sessionId, report } = state;
  if (state.open !== null && !state.ended.has(run_id))
    report("I6", `Session ${sessionId}: run ${run_id} starts while ${state.open} is in progress.`, { event });
  if (state.started.has(run_id)) report("I7", `Session ${sessionId}: run ${run_id} starts twice.`, { event });
  if (stoppedAt(state, run_id) !== undefined)
    report("I13", `Session ${sessionId}: run ${run_id} starts although it was cancelled in the queue.`, {
      event,
      cancelledAt: stoppedAt(state, run_id),
    });
  state.started.add(run_id);
  // The prompt no longer waits, even if the run ends before it reads the prompt.
  state.waiting.delete(run_id);
  state.open = run_id;
  state.callsOpen = 0;
  state.usage = NO_USAGE;
  state.cost = 0n;
}

function endRun(
  state: Walk,
  event: Extract<Event, { event_type: "session.completed" }> | Extract<Event, { event_type: "session.failed" }>,
): void {
  const { run_id, usage, cost_micros, cost_picos } = event.data;
  const { sessionId, report } = state;
  if (state.ended.has(run_id)) report("I7", `Session ${sessionId}: run ${run_id} ends twice.`, { event });
  else if (state.open !== run_id)
    report("I7", `Session ${sessionId}: run ${run_id} ends but was not in progress.`, { event });
  if (event.event_type === "session.completed") checkNotStopped(state, event, run_id);
  state.ended.add(run_id);
  if (state.open !== run_id) return;
  state.open = null;
  const counted = { cost_micros: microsOf(state.cost), cost_picos: String(state.cost) };
  const sameCost = cost_micros === counted.cost_micros && (cost_picos ?? counted.cost_picos) === counted.cost_picos;
  const same = sameCost && JSON.stringify(usage) === JSON.stringify(state.usage);
  if (!same)
    report("I12", `Session ${sessionId}: run ${run_id} reports a total that differs from the sum of its model calls.`, {
      said: { usage, cost_micros, cost_picos },
      counted: { usage: state.usage, ...counted },
    });
}

/** Checks that a fact about a run comes between the start and the end of the run. */
function checkRun({ open, ended, sessionId, report }: Walk, event: Event, runId: string): void {
  if (open === runId) return;
  const state = ended.has(runId) ? "has ended" : "is not in progress";
  report("I7", `Session ${sessionId}: ${event.event_type} (${event.sequence}) names run ${runId}, which ${state}.`, {
    event,
  });
}

/**
 * Checks that no new work and no success follows the cancel of its run. The store rejects such facts if a cancel
 * arrived before them, because the worker appends them with `expect` (the length that the log must have).
 */
function checkNotStopped(state: Walk, event: Event, runId: string): void {
  const { sessionId, report } = state;
  const since = stoppedAt(state, runId);
  if (since === undefined) return;
  const sentence = `Session ${sessionId}: ${event.event_type} (${event.sequence}) in a run that was cancelled at ${since}.`;
  report("I13", sentence, { event, cancelledAt: since });
}

function picosOf(cost: CallCost | null): bigint {
  return cost ? exactCost(cost).total : 0n;
}
