import type { Event } from "@skein/protocol";
import type { History, Report } from "./history.ts";

/** I8 and I12: compares the log with counts that were kept outside of Skein. */
export function checkEffects(history: History, report: Report): void {
  if (history.effects) checkTools(history, history.effects, report);
  if (history.modelCalls) checkModelCalls(history, history.modelCalls, report);
}

function checkTools(history: History, effects: NonNullable<History["effects"]>, report: Report): void {
  const byCall = Map.groupBy(effects, ({ sessionId, toolUseId }) => `${sessionId}/${toolUseId}`);
  for (const [call, done] of byCall)
    if (done[0]?.policy === "once" && done.length > 1)
      report("I8", `The tool call ${call} may take effect once, but took effect ${done.length} times.`, {
        effects: done,
      });

  for (const { sessionId, events } of history.sessions) {
    const intents = new Map<string, number>();
    for (const event of events) {
      if (event.event_type === "tool.started" && !intents.has(event.data.tool_use_id))
        intents.set(event.data.tool_use_id, Date.parse(event.created_at));
      // A tool call that a person or client answered has no `tool.started`, and no effect to count.
      if (!isSuccess(event) || !intents.has(event.data.tool_use_id)) continue;
      if (!byCall.has(`${sessionId}/${event.data.tool_use_id}`))
        report("I8", `Session ${sessionId}: ${event.data.tool_use_id} succeeded without any effect.`, { event });
    }
    for (const effect of effects) {
      if (effect.sessionId !== sessionId) continue;
      const intended = intents.get(effect.toolUseId);
      if (intended === undefined || intended > effect.at)
        report("I8", `Session ${sessionId}: ${effect.toolUseId} took effect before its intent was stored.`, { effect });
    }
  }
}

function isSuccess(event: Event): event is Extract<Event, { event_type: "tool.completed" }> {
  return event.event_type === "tool.completed" && event.data.outcome === "committed";
}

/** Checks that the model gave every answer that the log counts, and that no answer is counted twice. */
function checkModelCalls(history: History, calls: NonNullable<History["modelCalls"]>, report: Report): void {
  const given = new Map<string, number>();
  for (const { sessionId, runId, step, usage } of calls) {
    const answer = JSON.stringify([sessionId, runId, step, usage]);
    given.set(answer, (given.get(answer) ?? 0) + 1);
  }
  for (const { sessionId, events } of history.sessions)
    for (const event of events) {
      if (event.event_type !== "step.generated") continue;
      const { run_id, step, usage } = event.data;
      const answer = JSON.stringify([sessionId, run_id, step, usage]);
      const left = given.get(answer) ?? 0;
      if (left === 0)
        report("I12", `Session ${sessionId}: event ${event.sequence} counts an answer that the model did not give.`, {
          event,
        });
      given.set(answer, left - 1);
    }
}
