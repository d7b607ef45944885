import { type Content, type ContentBlock, type Event, type FactData, type ToolUseBlock, textOf } from "@skein/protocol";
import { timeOf } from "@skein/protocol/event-time";
import { lineChanges } from "../text/line-changes.ts";
import { type Call, type CallState, type SessionView, type Step, placeOf, touch } from "./view.ts";

/**
 * Adds an event to the view if the event is about a tool call, or about the wait of a tool call for an answer. Returns
 * whether it is.
 */
export function foldCall(view: SessionView, event: Event): boolean {
  const at = Date.parse(timeOf(event));
  switch (event.event_type) {
    case "tool.started": {
      const call = view.calls.get(event.data.tool_use_id);
      if (!call) return true;
      call.state = "running";
      // The person who approved the call may have changed its input.
      call.input = event.data.input;
      call.policy = event.data.policy;
      call.startedAt = at;
      call.startedSequence = event.sequence;
      touch(call.step);
      return true;
    }
    case "tool.completed":
      completed(view, event, event.data);
      return true;
    case "await.opened":
      for (const one of event.data.awaits) opened(view, event, one);
      return true;
    case "await.answered": {
      const call = view.calls.get(event.data.tool_use_id);
      if (!call?.wait) return true;
      call.wait.answer = { content: event.data.content, isError: event.data.is_error };
      view.open.delete(call.id);
      touch(call.step);
      return true;
    }
    case "await.resolved": {
      const call = view.calls.get(event.data.tool_use_id);
      view.open.delete(event.data.tool_use_id);
      if (!call?.wait) return true;
      call.wait.closedAt = at;
      call.wait.resolution = event.data.resolution;
      if (call.state === "waiting") call.state = "asked";
      touch(call.step);
      return true;
    }
    default:
      return false;
  }
}

export function addCall(view: SessionView, step: Step, block: ToolUseBlock): void {
  const call: Call = {
    id: block.id,
    name: block.name,
    input: block.input,
    step,
    state: "asked",
    policy: null,
    startedAt: null,
    endedAt: null,
    durationMs: null,
    result: null,
    startedSequence: null,
    endedSequence: null,
    wait: null,
    childSession: null,
    nested: [],
  };
  step.calls.push(call);
  view.calls.set(call.id, call);
}

const OUTCOMES: Readonly<Record<string, CallState>> = { committed: "done", failed: "failed", unknown: "unknown" };

function completed(view: SessionView, event: Event, data: FactData<"tool.completed">): void {
  const call = view.calls.get(data.tool_use_id);
  view.open.delete(data.tool_use_id);
  if (!call) return;
  const state = OUTCOMES[data.outcome] ?? "unknown";
  const isFailed = state === "failed" || (state === "done" && data.is_error);
  finish(call, placeOf(event), { state: isFailed ? failedState(call, data.content) : state, content: data.content });
  call.durationMs = data.duration_ms;
  fileChange(view, call);
}

/** Completes a call with the result in a copied message. The log of a fork has no other record of the result. */
export function completeFromBlock(view: SessionView, event: Event, block: ContentBlock): void {
  const call = view.calls.get(String(block["tool_use_id"]));
  if (!call) return;
  const content = (block["content"] ?? "") as Content;
  finish(call, placeOf(event), { state: block["is_error"] === true ? failedState(call, content) : "done", content });
}

/** Completes a call with a result in a coding agent's transcript. The call ended at the time of the result's line. */
export function completeFromResult(
  view: SessionView,
  place: { readonly sequence: number; readonly at: number },
  block: ContentBlock,
): void {
  const call = view.calls.get(String(block["tool_use_id"]));
  if (!call) return;
  const content = (block["content"] ?? "") as Content;
  finish(call, place, { state: block["is_error"] === true ? failedState(call, content) : "done", content });
  call.startedAt = call.step.at;
  call.startedSequence = call.step.sequence;
  call.durationMs = Math.max(0, place.at - call.step.at);
  fileChange(view, call);
}

/** The beginnings of the results of Skein and of Claude Code for a call that a person denied. */
const DENIED = /^(This call was not allowed\.|The user doesn't want to proceed with this tool use\.)/;
const CANCELLED = /^(The run was cancelled before this call finished\.|\[Request interrupted by user for tool use\])/;

/**
 * Returns the state of a call without success. The log records a denied or cancelled call as failed. The log of a fork
 * has no awaits, only the results.
 */
function failedState({ wait }: Call, content: Content): CallState {
  const text = textOf(content);
  if ((wait?.kind === "approval" && wait.answer?.isError === true) || DENIED.test(text)) return "denied";
  return wait?.resolution === "cancelled" || CANCELLED.test(text) ? "cancelled" : "failed";
}

function finish(
  call: Call,
  { at, sequence }: { readonly at: number; readonly sequence: number },
  { state, content }: { state: CallState; content: Content },
): void {
  call.state = state;
  call.result = content;
  call.endedAt = at;
  call.endedSequence = sequence;
  touch(call.step);
}

type Opened = FactData<"await.opened">["awaits"][number];

function opened(view: SessionView, event: Event, one: Opened): void {
  const call = view.calls.get(one.tool_use_id);
  if (!call) return;
  call.state = one.kind === "subagent" ? "running" : "waiting";
  call.childSession = one.session_id ?? call.childSession;
  call.wait = {
    kind: one.kind,
    openedAt: Date.parse(timeOf(event)),
    sequence: event.sequence,
    expiresAt: one.expires_at,
    closedAt: null,
    resolution: null,
    answer: null,
  };
  call.startedAt ??= call.wait.openedAt;
  if (one.kind !== "subagent") view.open.set(call.id, call);
  touch(call.step);
}

/** Tools that write files, by the names that different agents use. */
const WRITERS: ReadonlySet<string> = new Set([
  "Edit",
  "Write",
  "MultiEdit",
  "NotebookEdit",
  "str_replace_based_edit_tool",
]);

function fileChange(view: SessionView, call: Call): void {
  if (!WRITERS.has(call.name) || ["failed", "denied", "cancelled"].includes(call.state)) return;
  const input = (call.input ?? {}) as Record<string, unknown>;
  const path = input["file_path"] ?? input["path"] ?? input["notebook_path"];
  if (typeof path !== "string") return;
  const file = view.files.get(path) ?? { path, calls: [], added: 0, removed: 0 };
  const { added, removed } = lineChanges(input);
  file.calls.push(call);
  file.added += added;
  file.removed += removed;
  view.files.set(path, file);
}
