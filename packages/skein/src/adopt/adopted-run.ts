import { estimateTokens, rowsOf } from "@skein/core";
import {
  type Content,
  type Fact,
  type FactData,
  type Failure,
  type Ids,
  NO_USAGE,
  type StopReason,
  type UsageTotals,
  addUsage,
  isToolUse,
  textOf,
} from "@skein/protocol";
import type { Answer } from "./answers.ts";

/** Writes the facts of one run of an adopted session, in the order in which a driver would have. */
export interface AdoptedRun {
  readonly id: string;
  /** The model has said its last word, unless somebody speaks again. */
  isAnswered(): boolean;
  answered(answer: Answer, at: { messageId: string; resultsMessageId: string; time: number }): void;
  /** An answer that was gone back behind: it is no part of the conversation, and was paid for. */
  leftBehind(answer: Answer): void;
  resulted(result: { toolUseId: string; content: Content; isError: boolean; time: number }): void;
  /** A prompt that was typed while the run went on. */
  steered(content: Content, messageId: string): void;
  /** Counts what a subagent took. */
  counted(answer: Pick<Answer, "usage" | "cost">): void;
  noticed(notice: { messageId: string; subtype: string; entry: Record<string, unknown> }): void;
  failed(failure: Failure): void;
  /** The run is over. A run that stopped in the middle was interrupted. */
  end(time: number): void;
}

export interface AdoptedRunDeps {
  readonly ids: Ids;
  readonly write: (...facts: readonly Fact[]) => void;
  /** How many messages there are, and how large they are together: the same object for all runs of a session. */
  readonly transcript: { messages: number; tokens: number };
}

const NO_RESULT = "No result was recorded; nobody can say whether the call took effect.";
const INTERRUPTED: Failure = { code: "interrupted", message: "The run was interrupted." };

interface OpenCall {
  readonly name: string;
  readonly input: unknown;
  readonly part: number;
  readonly time: number;
}

export function beginRun(
  prompt: { readonly content: Content; readonly messageId: string; readonly time: number },
  { ids, write, transcript }: AdoptedRunDeps,
): AdoptedRun {
  const id = ids();
  const startedAt = prompt.time;
  let step = 0;
  let usage: UsageTotals = NO_USAGE;
  let costMicros = 0;
  let unpriced = 0;
  let last: Answer | null = null;
  let failure: Failure | null = null;
  let resultsMessageId = "";
  let results = 0;
  let tokensOfResults = 0;
  let now = prompt.time;
  const open = new Map<string, OpenCall>();

  function enter(entered: {
    messageId: string;
    role: "user" | "assistant";
    rows: number;
    tokens: number;
    of?: "results";
  }): void {
    const { messageId, role, rows, tokens, of } = entered;
    const before = { ...transcript };
    transcript.messages += 1;
    transcript.tokens += tokens;
    write({
      event_type: "message.created",
      data: {
        message_id: messageId,
        run_id: id,
        step,
        role,
        rows,
        transformation_type: of ? "tool_result_added" : `${role}_message_added`,
        messages_before_count: before.messages,
        messages_after_count: transcript.messages,
        tokens_before: before.tokens,
        tokens_after: transcript.tokens,
      },
    });
  }

  function accept(content: Content, messageId: string, mode: "queue" | "steer"): void {
    const data = { message_id: messageId, run_id: mode === "queue" ? id : ids(), mode, content };
    write({ event_type: "prompt.accepted", data: { ...data, model: null, max_cost_micros: null } });
  }

  function enterPrompt(content: Content, messageId: string): void {
    const rows = rowsOf(messageId, "user", content).length;
    enter({ messageId, role: "user", rows, tokens: estimateTokens(content) });
  }

  function passed(time: number): number {
    const duration = Math.max(0, time - now);
    now = Math.max(now, time);
    return duration;
  }

  function completed(
    toolUseId: string,
    call: OpenCall,
    result: { content: Content; isError: boolean; time: number; outcome: "committed" | "failed" | "unknown" },
  ): void {
    const { content, isError, time, outcome } = result;
    open.delete(toolUseId);
    tokensOfResults += estimateTokens(content);
    write({
      event_type: "tool.completed",
      data: {
        run_id: id,
        step,
        tool_use_id: toolUseId,
        name: call.name,
        input: call.input,
        outcome,
        content,
        is_error: isError,
        message_id: resultsMessageId,
        part: call.part,
        duration_ms: Math.max(0, time - call.time),
      },
    });
    passed(time);
    if (open.size > 0) return;
    enter({ messageId: resultsMessageId, role: "user", rows: results, tokens: tokensOfResults, of: "results" });
    tokensOfResults = 0;
  }

  /** A model is never shown a call without its result, and neither is a reader. */
  function closeCalls(): void {
    for (const [toolUseId, call] of open)
      completed(toolUseId, call, { content: NO_RESULT, isError: true, time: now, outcome: "unknown" });
  }

  function count(counted: Pick<Answer, "usage" | "cost">): void {
    usage = addUsage(usage, counted.usage);
    costMicros += counted.cost?.total_micros ?? 0;
    unpriced += counted.cost ? 0 : 1;
  }

  function isAnswered(): boolean {
    return last !== null && !last.content.some(isToolUse);
  }

  accept(prompt.content, prompt.messageId, "queue");
  write({
    event_type: "session.started",
    data: { run_id: id, message_id: prompt.messageId, user_message: textOf(prompt.content), formatter: "json" },
  });
  enterPrompt(prompt.content, prompt.messageId);

  return {
    id,
    isAnswered,
    answered(answer, { messageId, resultsMessageId: of, time }) {
      closeCalls();
      step += 1;
      failure = null;
      last = answer;
      const { content } = answer;
      const calls = content.filter(isToolUse);
      count(answer);
      write(
        ...stepFacts(answer, {
          inStep: { run_id: id, step },
          messageId,
          resultsMessageId: calls.length === 0 ? null : of,
          transcript,
          duration: passed(time),
        }),
      );
      const rows = rowsOf(messageId, "assistant", [...content]).length;
      enter({ messageId, role: "assistant", rows, tokens: estimateTokens(content) });
      resultsMessageId = of;
      results = calls.length;
      calls.forEach(({ id: toolUseId, name, input }, part) => {
        open.set(toolUseId, { name, input, part, time });
        write({
          event_type: "tool.started",
          data: { run_id: id, step, tool_use_id: toolUseId, name, input, policy: "once" },
        });
      });
    },
    leftBehind(answer) {
      count(answer);
      const { model, usage: counted, cost } = answer;
      write({ event_type: "step.abandoned", data: { run_id: id, step, model, usage: counted, cost } });
    },
    resulted({ toolUseId, content, isError, time }) {
      const call = open.get(toolUseId);
      if (call) completed(toolUseId, call, { content, isError, time, outcome: isError ? "failed" : "committed" });
    },
    steered(content, messageId) {
      accept(content, messageId, "steer");
      enterPrompt(content, messageId);
    },
    counted: count,
    noticed({ messageId, subtype, entry }) {
      write({ event_type: "runtime.noticed", data: { run_id: id, message_id: messageId, subtype, notice: entry } });
    },
    failed(reason) {
      failure = reason;
    },
    end(time) {
      const isWhole = isAnswered();
      closeCalls();
      passed(time);
      const totals = {
        run_id: id,
        step,
        usage,
        cost_micros: costMicros,
        unpriced_calls: unpriced,
        files_generated: 0,
        duration_ms: Math.max(0, now - startedAt),
      };
      write(endFact(totals, last, failure ?? (isWhole ? null : INTERRUPTED)));
    },
  };
}

function stepFacts(
  { model, content, stopReason, usage, cost }: Answer,
  at: {
    inStep: { run_id: string; step: number };
    messageId: string;
    resultsMessageId: string | null;
    transcript: AdoptedRunDeps["transcript"];
    duration: number;
  },
): readonly Fact[] {
  return [
    {
      event_type: "step.started",
      data: {
        ...at.inStep,
        attempt: 1,
        purpose: "step",
        model,
        max_tokens: 0,
        thinking_tokens: 0,
        tools_count: 0,
        messages_count: at.transcript.messages,
        estimated_tokens: at.transcript.tokens,
      },
    },
    {
      event_type: "step.generated",
      data: {
        ...at.inStep,
        purpose: "step",
        message_id: at.messageId,
        results_message_id: at.resultsMessageId,
        content: [...content],
        model,
        stop_reason: stopReason,
        usage,
        cost,
        container_id: null,
        duration_ms: at.duration,
      },
    },
  ];
}

type Totals = Omit<FactData<"session.completed">, "stop_reason" | "final_response" | "result">;

function endFact(totals: Totals, last: Answer | null, error: Failure | null): Fact {
  if (error === null)
    return {
      event_type: "session.completed",
      data: { ...totals, stop_reason: stopReasonOf(last), final_response: textOf([...(last?.content ?? [])]) },
    };
  const isInterrupted = error.code === INTERRUPTED.code;
  const outcome = isInterrupted ? "cancelled" : "failed";
  const data = { ...totals, outcome, stop_reason: isInterrupted ? "cancelled" : "error", error } as const;
  return { event_type: "session.failed", data };
}

const STOP_REASONS: ReadonlyMap<string | null | undefined, StopReason> = new Map([
  ["max_tokens", "max_tokens"],
  ["stop_sequence", "stop_sequence"],
  ["refusal", "refusal"],
  ["model_context_window_exceeded", "context_window_exceeded"],
]);

function stopReasonOf(last: Answer | null): StopReason {
  return STOP_REASONS.get(last?.stopReason) ?? "end_turn";
}
