import {
  type Content,
  type Event,
  type FactData,
  addUsage,
  blocksOf,
  exactCost,
  isToolUse,
  microsOf,
} from "@skein/protocol";
import { timeOf } from "@skein/protocol/event-time";
import { addCall, completeFromBlock } from "./fold-calls.ts";
import { type Aside, type SessionView, type Step, noTokens, placeOf, stepOf, touch } from "./view.ts";

/** Adds an event to the view if the event is about a model call. Returns whether it is. */
export function foldStep(view: SessionView, event: Event): boolean {
  switch (event.event_type) {
    case "step.started":
      if (event.data.purpose === "step" || event.data.purpose === "summary") started(view, event, event.data);
      return true;
    case "step.generated":
      generated(view, event, event.data);
      return true;
    case "step.retried": {
      const { run_id, step: number, error, delay_ms, lost } = event.data;
      const step = stepOf(view, run_id, number);
      step?.retries.push({ error, delayMs: delay_ms, at: Date.parse(timeOf(event)) });
      if (step) step.draft = "";
      touch(step);
      if (lost) spend(view, lost);
      return true;
    }
    case "step.error": {
      const step = stepOf(view, event.data.run_id, event.data.step);
      if (step) {
        step.state = "failed";
        step.error = event.data.error;
        breakOff(step, event, event.data);
      }
      touch(step);
      if (event.data.lost) spend(view, event.data.lost);
      return true;
    }
    case "step.abandoned": {
      const step = stepOf(view, event.data.run_id, event.data.step);
      if (step) {
        step.state = event.data.reason === "cancelled" ? "interrupted" : "lost";
        step.usage = event.data.usage;
        step.cost = event.data.cost;
        step.reservedMicros = event.data.reserved_micros ?? 0;
        breakOff(step, event, event.data);
      }
      touch(step);
      spend(view, event.data);
      return true;
    }
    case "subagent.messaged":
      if (event.data.usage) spend(view, { usage: event.data.usage, cost: event.data.cost });
      nested(view, event, event.data);
      return true;
    default:
      return false;
  }
}

/** Ends a step without a complete answer, and keeps the text of an interrupted answer. */
function breakOff(
  step: Step,
  event: Event,
  { message_id, content }: Pick<FactData<"step.abandoned">, "message_id" | "content">,
): void {
  step.draft = "";
  step.brokenAt = Date.parse(timeOf(event));
  if (message_id === undefined || !content) return;
  step.messageId = message_id;
  step.content = content;
}

function nested(view: SessionView, event: Event, data: FactData<"subagent.messaged">): void {
  const call = view.calls.get(data.parent_tool_use_id);
  if (!call) return;
  call.nested.push({ id: data.message_id, role: data.role, content: data.content, at: Date.parse(timeOf(event)) });
  touch(call.step);
}

export function newStep(
  place: ReturnType<typeof placeOf>,
  values: Pick<Step, "runId" | "run" | "number" | "purpose" | "model">,
): Step {
  return {
    ...place,
    kind: "step",
    messageId: null,
    state: "running",
    attempt: 1,
    retries: [],
    content: [],
    draft: "",
    calls: [],
    usage: null,
    cost: null,
    stopReason: null,
    generatedAt: null,
    brokenAt: null,
    durationMs: null,
    error: null,
    messagesCount: 0,
    reservedMicros: 0,
    isSimulated: false,
    ...values,
  };
}

function put(view: SessionView, step: Step): Step {
  view.items.push(step);
  view.steps.push(step);
  return step;
}

function started(view: SessionView, event: Event, data: FactData<"step.started">): void {
  const known = stepOf(view, data.run_id, data.step);
  const purpose = data.purpose === "summary" ? "summary" : "step";
  const values = {
    runId: data.run_id,
    run: runNumber(view, data.run_id),
    number: data.step,
    purpose,
    model: data.model,
  } as const;
  const step = known?.purpose === purpose ? known : put(view, newStep(placeOf(event), values));
  step.attempt = data.attempt;
  step.state = "running";
  step.model = data.model;
  step.error = null;
  step.draft = "";
  step.brokenAt = null;
  step.messagesCount = data.messages_count;
  step.isSimulated = data.simulated === true;
  touch(step);
}

function generated(view: SessionView, event: Event, data: FactData<"step.generated">): void {
  spend(view, data);
  if (data.purpose === "title" || data.purpose === "compaction") return aside(view, data.purpose, data);
  const run = runNumber(view, data.run_id);
  const values = { runId: data.run_id, run, number: data.step, purpose: data.purpose, model: data.model } as const;
  const step = stepOf(view, data.run_id, data.step) ?? put(view, newStep(placeOf(event), values));
  step.state = "done";
  step.messageId = data.message_id;
  step.content = data.content;
  step.draft = "";
  step.usage = data.usage;
  step.cost = data.cost;
  step.model = data.model;
  step.stopReason = data.stop_reason;
  step.generatedAt = Date.parse(timeOf(event));
  step.durationMs = data.duration_ms;
  step.isSimulated = data.simulated === true;
  // In a session that was adopted from the files of Claude Code, only the answer of a step has its original time.
  step.at = Math.min(step.at, step.generatedAt - data.duration_ms);
  for (const block of data.content) if (isToolUse(block)) addCall(view, step, block);
  touch(step);
}

/** Returns the number of a run in the session. Returns 0 while earlier events of the log are not loaded. */
function runNumber(view: SessionView, runId: string): number {
  return view.isPartial ? 0 : (view.runs.find(({ id }) => id === runId)?.number ?? 0);
}

function aside(view: SessionView, purpose: "title" | "compaction", { usage }: FactData<"step.generated">): void {
  const known: Aside = view.asides.get(purpose) ?? { calls: 0, totals: noTokens() };
  view.asides.set(purpose, { calls: known.calls + 1, totals: addUsage(known.totals, usage) });
}

function spend(view: SessionView, { usage, cost }: Pick<FactData<"step.generated">, "usage" | "cost">): void {
  Object.assign(view.totals, addUsage(view.totals, usage));
  if (!cost) view.unpricedCalls += 1;
  else view.costPicos += exactCost(cost).total;
  view.costMicros = microsOf(view.costPicos);
}

/** Adds a message that a fork copied from its parent session. The cost of the message belongs to the parent session. */
export function copiedMessage(view: SessionView, event: Event, data: FactData<"message.copied">): void {
  const { message_id, role, content } = data;
  if (role === "assistant") {
    const values = { runId: "copied", run: 0, number: 0, purpose: "copied", model: "" } as const;
    const step = put(view, newStep(placeOf(event), values));
    step.state = "done";
    step.messageId = message_id;
    step.content = blocksOf(content);
    step.generatedAt = step.at;
    for (const block of step.content) if (isToolUse(block)) addCall(view, step, block);
    return;
  }
  const results = blocksOf(content).filter(({ type }) => type === "tool_result");
  for (const result of results) completeFromBlock(view, event, result);
  const said = withoutResults(content);
  if (said === null) return;
  const place = placeOf(event);
  view.items.push({
    ...place,
    kind: "prompt",
    messageId: message_id,
    content: said,
    mode: "queue",
    isCopied: true,
    checkpointId: null,
  });
}

function withoutResults(content: Content): Content | null {
  if (typeof content === "string") return content;
  const rest = content.filter(({ type }) => type !== "tool_result");
  return rest.length === 0 ? null : rest;
}
