import { type Draft, type Event, type FactData, textOf } from "@skein/protocol";
import { timeOf } from "@skein/protocol/event-time";
import { plural, short } from "../ui/amounts.ts";
import { foldCall } from "./fold-calls.ts";
import { copiedMessage, foldStep } from "./fold-steps.ts";
import { type Mark, type Run, type SessionView, placeOf, stepOf } from "./view.ts";

/**
 * Adds one event to the view. The view is changed in place, because a log may have ten thousand events. Each changed
 * item gets a new version. An event of an unknown type is shown by its name.
 */
export function fold(view: SessionView, event: Event): void {
  if (event.sequence <= view.sequence) return;
  if (event.sequence > view.sequence + 1) view.isPartial = true;
  view.sequence = event.sequence;
  view.version += 1;
  view.events.push(event);
  if (foldSession(view, event) || foldStep(view, event) || foldCall(view, event) || QUIET.has(event.event_type)) return;
  view.items.push({ ...placeOf(event), kind: "unknown", type: event.event_type });
}

/** Known events that are not shown in the transcript. The list of events shows all of them. */
const QUIET: ReadonlySet<string> = new Set([
  "message.created",
  "answer.validated",
  "parent.informed",
  "memory.updated",
  "memory.saved",
  "memory.restored",
  "runtime.started",
  "runtime.noticed",
  "hook.called",
  "transcript.appended",
  "control.requested",
  "rewind.requested",
  "file.generated",
  "file.downloaded",
]);

function mark(view: SessionView, event: Event, text: string, more: Partial<Pick<Mark, "tone" | "detail">> = {}): void {
  view.items.push({ ...placeOf(event), kind: "mark", tone: "plain", detail: null, text, ...more });
}

/** Adds an event to the view if the event is about the session as a whole. Returns whether it is. */
function foldSession(view: SessionView, event: Event): boolean {
  switch (event.event_type) {
    case "session.created":
      begin(view, event, event.data);
      return true;
    case "session.edited":
      if (event.data.title !== undefined) view.title = event.data.title;
      if (event.data.tags !== undefined) view.tags = event.data.tags;
      return true;
    case "title.generated":
      view.title = event.data.title;
      return true;
    case "message.copied":
      copiedMessage(view, event, event.data);
      return true;
    case "prompt.accepted": {
      const { message_id, run_id, content, mode } = event.data;
      const { sequence, at } = placeOf(event);
      view.queue.push({ messageId: message_id, runId: run_id, content, mode, sequence, at });
      return true;
    }
    case "message.created":
      if (event.data.role === "user") enter(view, event, event.data.message_id);
      return true;
    case "session.started":
      view.runs.push(runOf(view, event, event.data.run_id));
      enter(view, event, event.data.message_id);
      return true;
    case "cancel.requested":
      cancelled(view, event.data.run_id);
      return true;
    case "run.resumed":
      // A run is also resumed when a wait ends, for example for an approval. In this case no worker died, and nothing
      // was in progress.
      if (isUnderWay(view, event.data.run_id))
        mark(view, event, "The worker died. Another worker continued the run from the end of its log.", {
          tone: "waiting",
        });
      return true;
    case "steps.exhausted":
      mark(view, event, `Stopped after ${plural(event.data.max_steps, "step")}, the step limit of this agent`, {
        tone: "waiting",
      });
      return true;
    case "session.completed":
    case "session.failed":
      ended(view, event);
      return true;
    default:
      return foldContext(view, event);
  }
}

/** Whether a model call or a tool of the run was in progress. */
function isUnderWay(view: SessionView, runId: string): boolean {
  return view.steps.some(
    (step) =>
      step.runId === runId &&
      (step.state === "running" || step.calls.some((call) => call.state === "running" && call.childSession === null)),
  );
}

/** Adds an event to the view if the event is about the context or a file. Returns whether it is. */
function foldContext(view: SessionView, event: Event): boolean {
  switch (event.event_type) {
    case "compaction.checked": {
      const { applied, current_tokens, tokens_after, messages, reason } = event.data;
      if (!applied) return true;
      const summary = messages?.map(({ content }) => textOf(content)).join("\n\n") ?? reason;
      mark(view, event, `Compacted: ${short(current_tokens)} tokens became ${short(tokens_after)}`, {
        detail: summary,
      });
      return true;
    }
    case "memory.retrieved": {
      const { injected } = event.data;
      if (injected.length > 0)
        mark(view, event, `Remembered ${plural(injected.length, "note")}`, { detail: injected.join("\n\n") });
      return true;
    }
    case "transcript.repaired":
      mark(view, event, "A tool call without a result was repaired before the next model call", {
        detail: JSON.stringify(event.data.repairs, null, 2),
      });
      return true;
    case "file.stored": {
      const { file_id, filename, size } = event.data;
      view.stored.set(file_id, { fileId: file_id, filename, size, at: Date.parse(event.created_at) });
      return true;
    }
    case "file.failed":
      mark(view, event, `The file ${event.data.filename ?? event.data.file_id} could not be stored`, {
        tone: "failed",
        detail: event.data.error.message,
      });
      return true;
    case "checkpoint.created":
      checkpoint(view, event.data);
      return true;
    case "rewind.completed": {
      const { files_changed, dry_run, error } = event.data;
      if (error) mark(view, event, "The files were not restored", { tone: "failed", detail: error.message });
      else if (!dry_run)
        mark(view, event, `${plural(files_changed.length, "file")} restored`, { detail: files_changed.join("\n") });
      return true;
    }
    default:
      return false;
  }
}

function begin(view: SessionView, event: Event, data: FactData<"session.created">): void {
  view.title = data.title;
  view.tags = data.tags;
  view.head = {
    agentName: data.agent.name,
    agentVersion: data.agent_version,
    agentId: data.agent_id,
    runtime: data.agent.runtime,
    model: data.agent.model,
    maxCostMicros: data.agent.max_cost_micros,
    parent: data.parent,
    subagentOf: data.subagent_of,
    workingDirectory: data.working_directory,
    createdAt: Date.parse(event.created_at),
  };
}

function runOf(view: SessionView, event: Event, id: string): Run {
  return {
    id,
    number: view.runs.length + 1,
    startedAt: Date.parse(timeOf(event)),
    endedAt: null,
    outcome: null,
    cancelRequested: false,
    costMicros: 0,
  };
}

/** Moves a prompt from the queue to the transcript. */
function enter(view: SessionView, event: Event, messageId: string): void {
  const at = view.queue.findIndex((one) => one.messageId === messageId);
  const queued = view.queue[at];
  if (!queued) return;
  view.queue.splice(at, 1);
  const { content, mode } = queued;
  view.items.push({ ...placeOf(event), kind: "prompt", messageId, content, mode, isCopied: false, checkpointId: null });
}

function cancelled(view: SessionView, runId: string): void {
  const at = view.queue.findIndex((one) => one.runId === runId);
  if (at !== -1) view.queue.splice(at, 1);
  const run = view.runs.find(({ id }) => id === runId);
  if (run) run.cancelRequested = true;
}

function checkpoint(view: SessionView, data: FactData<"checkpoint.created">): void {
  const prompt = view.items.findLast((item) => item.kind === "prompt" && item.messageId === data.user_message_uuid);
  if (prompt?.kind !== "prompt") return;
  prompt.checkpointId = data.checkpoint_id;
  prompt.version += 1;
}

const STOPS: Readonly<Record<string, string>> = {
  max_tokens: "The answer was cut off at the agent's token limit for one answer",
  max_steps: "The run ended at its step limit",
  refusal: "The model refused to continue",
  context_window_exceeded: "The conversation no longer fits into the model's context",
  budget: "The budget is used up",
};

function ended(view: SessionView, event: Extract<Event, { event_type: "session.completed" | "session.failed" }>): void {
  const run = view.runs.find(({ id }) => id === event.data.run_id);
  const outcome = event.event_type === "session.completed" ? "completed" : event.data.outcome;
  if (run) {
    run.endedAt = Date.parse(timeOf(event));
    run.outcome = outcome;
    run.costMicros = event.data.cost_micros;
  }
  for (const step of view.steps)
    if (step.runId === event.data.run_id && step.state === "running")
      closeStep(step, outcome, Date.parse(timeOf(event)));
  const stop = STOPS[event.data.stop_reason];
  if (event.event_type === "session.completed") {
    if (stop !== undefined) mark(view, event, stop, { tone: "waiting" });
    return;
  }
  if (outcome === "cancelled") mark(view, event, "Cancelled", { tone: "cancelled" });
  else mark(view, event, stop ?? "The run failed", { tone: "failed", detail: event.data.error.message });
}

const CLOSED = { completed: "done", failed: "failed", cancelled: "interrupted" } as const;

function closeStep(step: SessionView["steps"][number], outcome: keyof typeof CLOSED, at: number): void {
  step.state = CLOSED[outcome];
  step.brokenAt = at;
  step.draft = "";
  step.version += 1;
}

/**
 * Adds a draft (a piece of an unfinished answer) to its step. A piece after a gap is ignored, because the whole text
 * follows.
 */
export function foldDraft(view: SessionView, { event_type, data }: Draft): void {
  if (event_type !== "step.generating") return;
  const step = stepOf(view, data.run_id, data.step);
  if (!step || step.state !== "running") return;
  if (data.attempt !== step.attempt || data.offset > step.draft.length) return;
  step.draft = step.draft.slice(0, data.offset) + data.delta;
}
