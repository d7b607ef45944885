import {
  LOST_RESULT,
  type RunEnd,
  completedCall,
  endWith,
  estimateTokens,
  finalText,
  messageCreated,
  observedStep,
  promptAccepted,
  rowsOf,
  runCompleted,
  runFailed,
  runStarted,
  runtimeNoticed,
  stepAbandoned,
  stopReasonOf,
  toolStarted,
} from "@skein/core";
import {
  type Content,
  type Fact,
  type Failure,
  type Ids,
  NO_USAGE,
  type UsageTotals,
  addUsage,
  exactCost,
  isToolUse,
} from "@skein/protocol";
import type { Answer } from "./model-answers.ts";

/** Writes the facts of a run in an adopted session, in the order of a normal run. */
export interface AdoptedRun {
  readonly id: string;
  /** Returns true if the last answer has no tool calls. The answer is then final, unless another prompt follows. */
  isAnswered(): boolean;
  answered(answer: Answer, at: { messageId: string; resultsMessageId: string; time: number }): void;
  /** Counts an answer that a rewind removed. The answer costs money but is not part of the conversation. */
  leftBehind(answer: Answer): void;
  resulted(result: { toolUseId: string; content: Content; isError: boolean; time: number }): void;
  /** Adds a prompt that a person typed during the run. */
  steered(content: Content, messageId: string): void;
  /** Counts the usage of a subagent. */
  counted(answer: Pick<Answer, "usage" | "cost">): void;
  noticed(notice: { messageId: string; subtype: string; entry: Record<string, unknown> }): void;
  failed(failure: Failure): void;
  /** Ends the run. If the run has no final answer, it ends as interrupted. */
  end(time: number): void;
}

export interface AdoptedRunDeps {
  readonly ids: Ids;
  readonly write: (...facts: readonly Fact[]) => void;
  /** The number of messages and their total size. All runs of a session share this object. */
  readonly transcript: { messages: number; tokens: number };
}

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
  const startedAt = new Date(prompt.time).toISOString();
  let step = 0;
  let usage: UsageTotals = NO_USAGE;
  let cost = 0n;
  let unpricedCalls = 0;
  let last: Answer | null = null;
  let failure: Failure | null = null;
  let resultsMessageId = "";
  let results = 0;
  let tokensOfResults = 0;
  let now = prompt.time;
  const open = new Map<string, OpenCall>();

  const place = () => ({ runId: id, step });

  function enter(entered: {
    messageId: string;
    role: "user" | "assistant";
    rows: number;
    tokens: number;
    isResults: boolean;
  }): void {
    const { messageId, role, rows, tokens, isResults } = entered;
    const before = { ...transcript };
    transcript.messages += 1;
    transcript.tokens += tokens;
    write(messageCreated(place(), { messageId, role, rows, isResults, before, tokens }));
  }

  function accept(content: Content, messageId: string, mode: "queue" | "steer") {
    const prompt = promptAccepted({ message_id: messageId, run_id: mode === "queue" ? id : ids(), mode, content });
    write(prompt);
    return prompt.data;
  }

  function enterPrompt(content: Content, messageId: string): void {
    const rows = rowsOf(messageId, "user", content).length;
    enter({ messageId, role: "user", rows, tokens: estimateTokens(content), isResults: false });
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
    const durationMs = Math.max(0, time - call.time);
    const made = { outcome, content, isError, durationMs, messageId: resultsMessageId, part: call.part };
    write(completedCall(place(), { ...call, toolUseId }, made));
    passed(time);
    if (open.size > 0) return;
    enter({ messageId: resultsMessageId, role: "user", rows: results, tokens: tokensOfResults, isResults: true });
    tokensOfResults = 0;
  }

  /** Closes open calls. Without a result, a call would be shown neither to the model nor to people. */
  function closeCalls(): void {
    for (const [toolUseId, call] of open) completed(toolUseId, call, { ...LOST_RESULT, isError: true, time: now });
  }

  function count(counted: Pick<Answer, "usage" | "cost">): void {
    usage = addUsage(usage, counted.usage);
    cost += counted.cost ? exactCost(counted.cost).total : 0n;
    unpricedCalls += counted.cost ? 0 : 1;
  }

  function isAnswered(): boolean {
    return last !== null && !last.content.some(isToolUse);
  }

  write(runStarted(accept(prompt.content, prompt.messageId, "queue"), "json"));
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
      const reply = { ...answer, messageId, resultsMessageId: () => of, durationMs: passed(time) };
      write(...observedStep(place(), { reply, attempt: 1, ...transcript }));
      const rows = rowsOf(messageId, "assistant", [...content]).length;
      enter({ messageId, role: "assistant", rows, tokens: estimateTokens(content), isResults: false });
      resultsMessageId = of;
      results = calls.length;
      calls.forEach(({ id: toolUseId, name, input }, part) => {
        open.set(toolUseId, { name, input, part, time });
        write(toolStarted(place(), { toolUseId, name, input }));
      });
    },
    leftBehind(answer) {
      count(answer);
      write(stepAbandoned(place(), answer));
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
      write(runtimeNoticed({ runId: id }, { messageId, subtype, notice: entry }));
    },
    failed(reason) {
      failure = reason;
    },
    end(time) {
      const isWhole = isAnswered();
      closeCalls();
      passed(time);
      const totals = { ...place(), usage, costPicos: String(cost), unpricedCalls, filesGenerated: 0, startedAt };
      const error = failure ?? (isWhole ? null : INTERRUPTED);
      if (error) write(runFailed(totals, { ...endOf(error), now }));
      else {
        const stopReason = stopReasonOf(last?.stopReason ?? null);
        write(runCompleted(totals, { stopReason, finalResponse: finalText([...(last?.content ?? [])]), now }));
      }
    },
  };
}

/** Returns the end of a failed run. If Claude Code was interrupted, the run is cancelled. */
function endOf(error: Failure): RunEnd {
  return error.code === INTERRUPTED.code ? { stopReason: "cancelled", error } : endWith(error);
}
