import {
  type Batch,
  LOST_RESULT,
  type RunState,
  isCancelled,
  messageEntered,
  observedStep,
  reservationFor,
  runtimeNoticed,
  runtimeStarted,
  stepAbandoned,
  stepRetried,
  subagentMessaged,
  toolStarted,
} from "@skein/core";
import { isToolUse } from "@skein/protocol";
import { closeCalls, settleCall, settledBy } from "./call-results.ts";
import { messageIdOf } from "./message-id.ts";
import { endRun } from "./end-run.ts";
import type { ClaudeMessage } from "./sdk-messages.ts";
import type { CallTerms, SessionModels } from "./session-models.ts";

export interface RecordOptions {
  /** Returns the terms by which a model's answers are priced. */
  readonly termsOf: SessionModels["termsOf"];
  /** Returns the token limit of an answer, or undefined if it is unknown. */
  readonly mostOutput?: (apiMessageId: string) => number | undefined;
  /** True if the run continues in another process. A new answer then replaces the interrupted answer. */
  readonly goesOn?: boolean;
  /**
   * Returns why a cap (the operator's limit on spending) rejected the last model call. Returns undefined if no cap
   * rejected it.
   */
  readonly unpaid?: () => string | undefined;
}

/** Records a message of Claude Code as facts in the session's log. */
export function recordMessage(message: ClaudeMessage, batch: Batch, options: RecordOptions): void {
  const { state } = batch;
  const { run } = state;
  if (!run) return;
  switch (message.kind) {
    case "started":
      return batch.add(runtimeStarted(run, message.info));
    case "noticed":
      return batch.add(runtimeNoticed(run, message));
    case "retried":
      return batch.add(stepRetried(nextStep(run), { ...message, attempt: Math.max(1, message.attempt) }));
    case "subagent":
      return batch.add(subagentMessaged({ ...message, ...options.termsOf(message.model), runId: run.runId }));
    case "reply":
      return recordReply({ ...message, ...options.termsOf(message.model) }, run, batch);
    case "broken":
      return recordBroken(message, batch, options);
    case "steered":
      return recordSteered(message.messageId, batch);
    case "results":
      for (const result of message.results) settleCall(settledBy(result), batch);
      return;
    case "ended":
      return endRun(message.result, batch, options);
  }
}

/** Records that Claude Code read a queued prompt during the current run. */
export function recordSteered(messageId: string, batch: Batch): void {
  const isQueued = batch.state.queue.some(({ message_id }) => message_id === messageId);
  if (batch.state.run && isQueued) batch.add(messageEntered(batch.state, messageId));
}

/**
 * Records an answer that is not in the transcript. Records only the cost of a complete answer, and also the text of an
 * interrupted answer.
 */
export function recordLost(message: ClaudeMessage, batch: Batch, options: RecordOptions): void {
  const { state, add } = batch;
  if (message.kind === "broken") return recordBroken(message, batch, options);
  if (!state.run || (message.kind !== "reply" && message.kind !== "subagent")) return;
  const { model, usage } = message;
  if (model !== null && usage !== null)
    add(stepAbandoned(nextStep(state.run), { model, usage, ...options.termsOf(model) }));
}

/**
 * Records an answer whose stream was interrupted. Its text stays visible to people, unless the model is called again.
 * Reasons: docs/decisions/100-exact-money.md.
 */
function recordBroken(
  { apiMessageId, model, usage, estimated, content }: Extract<ClaudeMessage, { kind: "broken" }>,
  batch: Batch,
  { termsOf, mostOutput, goesOn = false }: RecordOptions,
): void {
  const { run, sessionId } = batch.state;
  if (!run) return;
  const { simulated, price } = termsOf(model);
  const limit = estimated && !simulated ? mostOutput?.(apiMessageId) : undefined;
  const reserved =
    limit !== undefined
      ? reservationFor(batch.state, {
          runId: run.runId,
          model,
          price,
          known: usage,
          most: { ...usage, output_tokens: Math.max(usage.output_tokens, limit) },
          now: batch.now,
        })
      : undefined;
  const messageId = messageIdOf(sessionId, apiMessageId);
  const answer = !goesOn && content.length > 0 ? { messageId, content } : undefined;
  const unasked = goesOn ? "handed_over" : "worker_lost";
  const reason = isCancelled(batch.state, run) ? "cancelled" : unasked;
  batch.add(stepAbandoned(nextStep(run), { model, usage, estimated, reserved, simulated, price, reason, answer }));
  if (answer) batch.add(messageEntered(batch.state, messageId));
}

function recordReply(reply: Extract<ClaudeMessage, { kind: "reply" }> & CallTerms, run: RunState, batch: Batch): void {
  // Tool calls of the previous answer that still have no result will not get one.
  closeCalls(batch, () => LOST_RESULT);
  const { sessionId, transcript, contextTokens } = batch.state;
  const place = nextStep(run);
  const messageId = messageIdOf(sessionId, reply.apiMessageId);
  const resultsMessageId = (): string => messageIdOf(sessionId, `${reply.apiMessageId}/results`);
  const step = observedStep(place, {
    reply: { ...reply, messageId, resultsMessageId },
    attempt: Math.max(1, run.attempts + 1),
    messages: transcript.length,
    tokens: contextTokens,
  });
  batch.add(...step);
  batch.add(messageEntered(batch.state, messageId));
  const calls = reply.content.filter(isToolUse);
  batch.add(...calls.map(({ id, name, input }) => toolStarted(place, { toolUseId: id, name, input })));
}

/** Returns the next step. Claude Code reports a model call only with its answer, so the step has not begun before. */
function nextStep({ runId, step }: RunState) {
  return { runId, step: step + 1 };
}
