import type { CallCost, Content, ContentBlock, Event, Failure, Usage, UsageTotals } from "@skein/protocol";
import { timeOf } from "@skein/protocol/event-time";

/**
 * `unknown`: the call was interrupted, so nobody knows whether it took effect. `denied`: a person did not approve it.
 * `cancelled`: its run ended first.
 */
export type CallState = "running" | "waiting" | "done" | "failed" | "unknown" | "asked" | "denied" | "cancelled";

/** One call of a tool with its result. */
export interface Call {
  readonly id: string;
  readonly name: string;
  input: unknown;
  readonly step: Step;
  state: CallState;
  policy: "once" | "repeatable" | null;
  startedAt: number | null;
  endedAt: number | null;
  durationMs: number | null;
  result: Content | null;
  /** The sequences of its start and end in the log. */
  startedSequence: number | null;
  endedSequence: number | null;
  wait: Wait | null;
  /** The session of the subagent that the call started, if any. */
  childSession: string | null;
  /** The messages and calls of a subagent that runs inside Claude Code. */
  nested: NestedMessage[];
}

/** How a call waits for a person, a frontend or a subagent, and how this wait ended. */
interface Wait {
  readonly kind: "frontend_tool" | "question" | "approval" | "subagent";
  readonly openedAt: number;
  readonly sequence: number;
  readonly expiresAt: string | null;
  closedAt: number | null;
  resolution: "answered" | "timed_out" | "cancelled" | null;
  answer: { readonly content: Content; readonly isError: boolean } | null;
}

export interface NestedMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly content: Content;
  readonly at: number;
}

/**
 * The fields of every item of a transcript. `version` grows with each change, so that only changed items render again.
 */
interface Versioned {
  readonly key: string;
  version: number;
  readonly sequence: number;
  readonly at: number;
}

/** A message of a person. */
export interface Prompt extends Versioned {
  readonly kind: "prompt";
  readonly messageId: string;
  readonly content: Content;
  readonly mode: "queue" | "steer" | "interrupt";
  readonly isCopied: boolean;
  checkpointId: string | null;
}

/** One model call and the tool calls that the model asked for. */
export interface Step extends Omit<Versioned, "at"> {
  at: number;
  readonly kind: "step";
  readonly runId: string;
  /** The number of the run in the session, starting at 1; 0 if it is unknown. */
  readonly run: number;
  /** The number of the step inside the run, starting at 1. */
  readonly number: number;
  readonly purpose: "step" | "summary" | "copied";
  messageId: string | null;
  /** `interrupted`: the run was cancelled. `lost`: the worker died. */
  state: "running" | "done" | "failed" | "lost" | "interrupted";
  /** What an interrupted model call may have cost beyond its known cost. */
  reservedMicros: number;
  model: string;
  attempt: number;
  retries: { readonly error: Failure; readonly delayMs: number; readonly at: number }[];
  content: readonly ContentBlock[];
  /** The text so far, until the whole answer has arrived. */
  draft: string;
  calls: Call[];
  usage: Usage | null;
  cost: CallCost | null;
  stopReason: string | null;
  generatedAt: number | null;
  /** When a step without a complete answer ended. */
  brokenAt: number | null;
  durationMs: number | null;
  error: Failure | null;
  messagesCount: number;
  /** The built-in simulation answered, not a model. */
  isSimulated: boolean;
}

/** An event that the transcript shows as one line, such as a compaction. */
export interface Mark extends Versioned {
  readonly kind: "mark";
  readonly tone: "plain" | "failed" | "cancelled" | "waiting";
  readonly text: string;
  readonly detail: string | null;
}

/** An event of a type that this console does not know. */
export interface Unknown extends Versioned {
  readonly kind: "unknown";
  readonly type: string;
}

export type Item = Prompt | Step | Mark | Unknown;

export interface Queued {
  readonly messageId: string;
  readonly runId: string;
  readonly content: Content;
  readonly mode: "queue" | "steer" | "interrupt";
  readonly sequence: number;
  readonly at: number;
}

export interface Run {
  readonly id: string;
  readonly number: number;
  readonly startedAt: number;
  endedAt: number | null;
  outcome: "completed" | "failed" | "cancelled" | null;
  cancelRequested: boolean;
  costMicros: number;
}

/** A file that calls of the session wrote or changed. */
interface FileChange {
  readonly path: string;
  readonly calls: Call[];
  added: number;
  removed: number;
}

export interface StoredFile {
  readonly fileId: string;
  readonly filename: string;
  readonly size: number;
  readonly at: number;
}

/** What the first event says about the session. */
interface Head {
  readonly agentName: string;
  readonly agentVersion: number;
  readonly agentId: string;
  readonly runtime: string;
  readonly model: string;
  readonly maxCostMicros: number | null;
  readonly parent: { readonly session_id: string; readonly sequence: number } | null;
  readonly subagentOf: { readonly session_id: string; readonly tool_use_id: string } | null;
  readonly workingDirectory: string | null;
  readonly createdAt: number;
}

/** The tokens of model calls that are not shown as steps. */
export interface Aside {
  calls: number;
  totals: UsageTotals;
}

/**
 * The data of a session's page. All data comes from the session's log, except drafts and the unknown effects of calls
 * that a fork copied from its parent session.
 */
export interface SessionView {
  sequence: number;
  version: number;
  /** Whether events at the beginning are not loaded. */
  isPartial: boolean;
  head: Head | null;
  title: string | null;
  tags: readonly string[];
  readonly items: Item[];
  readonly steps: Step[];
  readonly calls: Map<string, Call>;
  readonly runs: Run[];
  readonly queue: Queued[];
  /** Calls that wait for a person or a frontend, oldest first. */
  readonly open: Map<string, Call>;
  readonly totals: UsageTotals;
  /** The usage of model calls that are not steps: titles and compactions. `totals` includes it. */
  readonly asides: Map<"title" | "compaction", Aside>;
  /** The exact cost in pico-dollars. `costMicros` is the rounded cost. */
  costPicos: bigint;
  costMicros: number;
  unpricedCalls: number;
  readonly files: Map<string, FileChange>;
  readonly stored: Map<string, StoredFile>;
  readonly events: Event[];
}

export function emptyView(): SessionView {
  return {
    sequence: 0,
    version: 0,
    head: null,
    title: null,
    tags: [],
    items: [],
    steps: [],
    calls: new Map(),
    runs: [],
    queue: [],
    open: new Map(),
    totals: noTokens(),
    asides: new Map(),
    isPartial: false,
    costPicos: 0n,
    costMicros: 0,
    unpricedCalls: 0,
    files: new Map(),
    stored: new Map(),
    events: [],
  };
}

export function noTokens(): UsageTotals {
  return { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
}

/** Returns the name of a step. From the second run on, it includes the run, because each run begins with step 1. */
export function stepName({ run, number }: Pick<Step, "run" | "number">): string {
  return run > 1 ? `Run ${run}, step ${number}` : `Step ${number}`;
}

/** Returns a short name of a step, such as 3 in the first run and 2.3 in the second run. */
export function stepLabel({ run, number }: Pick<Step, "run" | "number">): string {
  return run > 1 ? `${run}.${number}` : String(number);
}

/** Returns when a step got its answer or broke off. Null if neither time is known. */
export function endOfStep({ generatedAt, brokenAt }: Step): number | null {
  return generatedAt ?? brokenAt;
}

/** Returns the fields of an item that come from its event. */
export function placeOf(event: Event): { key: string; version: number; sequence: number; at: number } {
  return { key: `e${event.sequence}`, version: 0, sequence: event.sequence, at: Date.parse(timeOf(event)) };
}

export function stepOf(view: SessionView, runId: string, number: number): Step | undefined {
  return view.steps.findLast((step) => step.runId === runId && step.number === number);
}

/** Marks a step, or one of its calls, as changed. */
export function touch(step: Step | undefined): void {
  if (step) step.version += 1;
}
