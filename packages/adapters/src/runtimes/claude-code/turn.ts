import {
  type DriverLog,
  LEASE_LOST,
  type Lease,
  type LeaseClock,
  type Live,
  type RunEnd,
  type SessionState,
  type Store,
  cancellation,
} from "@skein/core";
import { type Failure, type Ids, isKnownError } from "@skein/protocol";
import type { Answers } from "./answers.ts";
import { budgetEnd, createBudgetMeter } from "./budget.ts";
import type { Child, HookBridge } from "./claude-child.ts";
import { createDrafts } from "./drafts.ts";
import { followControl } from "./follow-control.ts";
import { createQuestions } from "./questions.ts";
import { createRecorder } from "./recorder.ts";
import { hasFailedServers, withServerErrors } from "./server-errors.ts";
import { createSteering } from "./steering.ts";
import type { SDKMessage } from "@anthropic-ai/claude-agent-sdk";

/**
 * How a turn ended. "ended": the run has ended, or waits for a person without a child. "parked": the child was ended
 * because a question waited long. "stopped": this process must release the session. "lost": this process must not
 * change the session any more.
 */
export type TurnEnd = "ended" | "parked" | "stopped" | "lost";

export interface TurnDeps {
  readonly store: Store;
  readonly live: Live;
  readonly now: () => number;
  readonly ids: Ids;
  /**
   * After a question has waited this long for a person's answer, an otherwise idle child (process of Claude Code) is
   * ended.
   */
  readonly parkAfterMs: number;
}

export interface Turn {
  readonly runId: string;
  /** Resolves when the log has the beginning of the run. */
  readonly begun: Promise<void>;
  readonly child: Child;
  readonly log: DriverLog;
  readonly answers: Answers;
  readonly lease: Lease;
  /** The duration of the lease when the session was claimed. The first append extends the lease. */
  readonly claimedMs: number;
  readonly clock: LeaseClock;
  readonly signal: AbortSignal;
  readonly cwd: string;
  readonly checkpoints: boolean;
  /**
   * Returns why a cap (the operator's limit on spending) rejected the last model call. Returns undefined if no cap
   * rejected it.
   */
  readonly unpaid?: () => string | undefined;
  /** The session's limit for messages of the child, in bytes. Null for no limit. */
  readonly maxMessageBytes: number | null;
  /** Values that must not appear in reports about the child. */
  readonly secrets: readonly string[];
  /** The time limit for the first message of the child, and the error if no message arrives. */
  readonly firstWord: Failure & { readonly ms: number };
  readonly bridge: HookBridge;
  /** Sends the child its prompt. */
  readonly begin: () => void;
}

/** If an interrupted child does not end its turn in this time, the child is ended. */
const INTERRUPT_MS = 5000;
/** When this process stops, a turn may continue for this time. */
const GRACE_MS = 5000;
/** If the store does not answer for this fraction of a lease's duration, the child is ended. */
const SILENCE = 0.7;

/**
 * Follows a child through a turn and records its messages. Returns when the run ends, or when another process must
 * continue it.
 */
export async function runTurn(turn: Turn, deps: TurnDeps): Promise<TurnEnd> {
  const { child, log, lease, clock, signal, maxMessageBytes } = turn;
  const { now, live } = deps;
  const { sessionId } = lease;
  const { termsOf } = child.models;
  const end = Promise.withResolvers<TurnEnd>();
  const drafts = createDrafts(live, sessionId, { runId: turn.runId, step: log.state.run?.step ?? 0 });
  const tellControl = followControl(child, log.state);
  const steering = createSteering(child);
  const timers: NodeJS.Timeout[] = [];
  let isOver = false;
  let interrupted = false;
  let isStopping = false;
  const { ms: firstWordMs, ...silence } = turn.firstWord;
  const silent = later(firstWordMs, () => void fail(silence).catch(abandon));

  const recorder = createRecorder({
    ...turn,
    ...deps,
    heard: drafts.heard,
    written(message) {
      drafts.written(message);
      if (message.kind === "ended") finish("ended");
      else react();
    },
    starved() {
      const message =
        "Claude Code did not write its answer to its transcript, so the answer was dropped. Check whether the disk is full, and send the prompt again.";
      fail({ code: "transcript_lost", message }).catch(abandon);
    },
  });
  const questions = createQuestions({
    ...turn,
    ...deps,
    begins: recorder.begins,
    park: () => leave("parked"),
    failed: abandon,
  });

  function finish(how: TurnEnd): void {
    if (isOver) return;
    isOver = true;
    // If the child has not read a prompt, it would begin another turn that nobody follows.
    if (steering.isUnread(log.state)) child.kill();
    child.detach();
    live.clear(sessionId);
    end.resolve(how);
  }

  /** Ends the turn and the child, but not the run. */
  function leave(how: TurnEnd): void {
    if (isOver) return;
    finish(how);
    child.kill();
  }

  /**
   * Ends the child, so that the run continues in another process. Then records the usage of the unfinished answer,
   * because only this process knows it.
   */
  async function stop(): Promise<void> {
    if (isOver || isStopping) return;
    // A question without an answer waits for the next process.
    if (questions.isOpen) return leave("stopped");
    isStopping = true;
    child.kill();
    await recorder.handOver();
    leave("stopped");
  }

  function abandon(error: unknown): void {
    if (isOver) return;
    isOver = true;
    child.kill();
    live.clear(sessionId);
    end.reject(error instanceof Error ? error : new Error(String(error)));
  }

  async function fail(error: Failure): Promise<void> {
    if (isOver || isStopping) return;
    child.kill();
    await recorder.fail(error);
    finish("ended");
  }

  function later(ms: number, work: () => void): NodeJS.Timeout {
    const timer = setTimeout(work, ms).unref();
    timers.push(timer);
    return timer;
  }

  /** Handles new events of the log, which may come from other writers. */
  function react(): void {
    if (isOver) return;
    if (!interrupted) steering.handOver(log.state);
    recorder.openGates();
    questions.wake();
    const over = interrupted ? undefined : wantedEnd(log.state, { now: now(), termsOf });
    if (over) {
      interrupted = true;
      child.query.interrupt().catch(() => undefined);
      later(INTERRUPT_MS, () => void fail(over.error).catch(abandon));
    }
    tellControl(log.state);
  }

  const stopping = (): void => {
    if (signal.reason === LEASE_LOST) leave("lost");
    // A person may need long to answer, so the session waits without a process.
    else if (questions.isOpen) later(0, () => leave("stopped"));
    else later(GRACE_MS, () => void stop().catch(abandon));
  };
  const stopListening = log.onNews(() => void log.catchUp().then(react, abandon));
  // If a worker cannot renew its lease, it must stop before the lease expires. Another worker may then take the
  // session.
  let heldMs = turn.claimedMs;
  const goodUntil = (): number => clock.validUntil - heldMs * (1 - SILENCE);
  const watch = setInterval(() => void (now() > goodUntil() && leave("lost")), 1000).unref();

  let asking: Promise<void> | undefined;
  function hear(message: SDKMessage): void {
    if (isOver || isStopping) return;
    if (!isOfTurnBefore(message)) clearTimeout(silent);
    // The limit is only for messages. The reader of the process's lines cannot check it, because some lines are
    // transcript entries.
    if (maxMessageBytes !== null && Buffer.byteLength(JSON.stringify(message)) > maxMessageBytes) {
      const sentence = `Claude Code sent a message of more than ${maxMessageBytes} bytes (max_buffer_size).`;
      void fail({ code: "buffer_exceeded", message: sentence }).catch(abandon);
      return;
    }
    if (message.type === "stream_event") drafts.publish(message);
    recorder.hear(message).catch(abandon);
  }

  function hasBegun(): void {
    heldMs = lease.leaseMs;
    // The run may have been cancelled while the process was started.
    if (log.state.run?.runId !== turn.runId) leave(log.state.run ? "lost" : "ended");
  }

  try {
    signal.addEventListener("abort", stopping);
    if (signal.aborted) stopping();
    child.attach({
      ...turn.bridge,
      terms: {
        isBusy: () => !isOver && !questions.isOpen,
        goodForMs: () => goodUntil() - now(),
        secrets: turn.secrets,
      },
      message(message) {
        // While the child is asked why an MCP server failed, new messages wait in their order.
        if (hasFailedServers(message)) asking = withServerErrors(message, child.query).then(hear);
        else if (asking) asking = asking.then(() => hear(message));
        else hear(message);
      },
      async append(entries, subpath) {
        // The SDK sends its result only after these entries are acknowledged. The entries and the result belong in one
        // append, so the entries are acknowledged before they are stored. If the append is rejected, the child is
        // ended. Nobody sees the entries before they are stored.
        recorder.append(entries, subpath).catch(abandon);
      },
      begins: recorder.begins,
      canUseTool: questions.canUseTool,
      budget: createBudgetMeter(log, { now, termsOf }),
    });
    void child.ended.then(({ code, message }) => fail({ code, message }).catch(abandon));
    void turn.begun.then(hasBegun, abandon);
    react();
    // Other writers may have appended events while the process was started.
    if (log.isBehind) void log.catchUp().then(react, abandon);
    turn.begin();
    const how = await end.promise;
    if (how === "ended") await recorder.flushed();
    return how;
  } catch (error) {
    if (isKnownError(error, "lease_lost", "not_found", "closed")) return "lost";
    throw error;
  } finally {
    signal.removeEventListener("abort", stopping);
    stopListening();
    clearInterval(watch);
    for (const timer of timers) clearTimeout(timer);
    recorder.close();
    questions.close();
  }
}

/** Returns the end of a run that must end now, or undefined. */
function wantedEnd(state: SessionState, terms: Parameters<typeof budgetEnd>[1]): RunEnd | undefined {
  const { run } = state;
  if (!run) return undefined;
  // A run with a final answer ends without this check.
  return cancellation(state, run) ?? (run.calls.length > 0 ? budgetEnd(state, terms) : undefined);
}

/**
 * Returns true for a report that Claude Code has finished a prompt. Such a report may arrive after the next prompt was
 * sent, and is then not about the next prompt.
 */
function isOfTurnBefore(message: object): boolean {
  const { type, state } = message as { readonly type?: unknown; readonly state?: unknown };
  return type === "command_lifecycle" && state !== "queued" && state !== "started";
}
