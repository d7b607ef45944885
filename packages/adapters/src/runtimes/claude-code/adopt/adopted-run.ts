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
  leftBehind(answer: Answer, time: number): void;
  resulted(result: { toolUseId: string; content: Content; isError: boolean; time: number }): void;
  /** Adds a prompt that a person typed during the run. */
  steered(content: Content, at: { messageId: string; time: number }): void;
  /** Counts an answer of a subagent. */
  counted(answer: Pick<Answer, "usage" | "cost">): void;
  noticed(notice: { messageId: string; subtype: string; entry: Record<string, unknown>; time: number }): void;
  failed(failure: Failure): void;
  /** Ends the run. Without a failure and without a final answer, the run ends as interrupted. */
  end(time: number): void;
}

export interface AdoptedRunDeps {
  readonly ids: Ids;
  /** Writes facts with the time at which they happened, in milliseconds. */
  readonly write: (time: number, ...facts: readonly Fact[]) => void;
  /** The number of messages, and their estimated tokens. All runs of a session share this object. */
  readonly transcript: { messages: number; tokens: number };
}

const INTERRUPTED: Failure = { code: "interrupted", message: "The run was interrupted." };

interface OpenCall {
  readonly name: string;
  readonly input: unknown;
  readonly part: number;
  readonly time: number;
}

interface Prompt {
  readonly content: Content;
  readonly messageId: string;
  readonly time: number;
}

export function beginRun(prompt: Prompt, { ids, write, transcript }: AdoptedRunDeps): AdoptedRun {
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
    time: number;
  }): void {
    const { messageId, role, rows, tokens, isResults, time } = entered;
    const before = { ...transcript };
    transcript.messages += 1;
    transcript.tokens += tokens;
    write(time, messageCreated(place(), { messageId, role, rows, isResults, before, tokens }));
  }

  function acceptedPrompt({ content, messageId }: Prompt, mode: "queue" | "steer") {
    return promptAccepted({ message_id: messageId, run_id: mode === "queue" ? id : ids(), mode, content });
  }

  function enterPrompt({ content, messageId, time }: Prompt): void {
    const rows = rowsOf(messageId, "user", content).length;
    enter({ messageId, role: "user", rows, tokens: estimateTokens(content), isResults: false, time });
  }

  function passed(time: number): number {
    const duration = Math.max(0, time - now);
    now = Math.max(now, time);
    return duration;
  }

  function completed(
    toolUseId: string,
    call: OpenCall,
    result: {
      content: Content;
      isError: boolean;
      outcome: "committed" | "failed" | "unknown";
      durationMs: number;
      time: number;
    },
  ): void {
    const { time, ...how } = result;
    open.delete(toolUseId);
    tokensOfResults += estimateTokens(how.content);
    const made = { ...how, messageId: resultsMessageId, part: call.part };
    write(time, completedCall(place(), { ...call, toolUseId }, made));
    if (open.size > 0) return;
    const entered = { messageId: resultsMessageId, rows: results, tokens: tokensOfResults, time };
    enter({ ...entered, role: "user", isResults: true });
    tokensOfResults = 0;
  }

  /**
   * Gives each tool call without a result an error as its result. Without a result, the call would be shown neither to
   * the model nor to people.
   */
  function closeCalls(time: number): void {
    for (const [toolUseId, call] of open) {
      const durationMs = Math.max(0, now - call.time);
      completed(toolUseId, call, { ...LOST_RESULT, isError: true, durationMs, time });
    }
  }

  function count(counted: Pick<Answer, "usage" | "cost">): void {
    usage = addUsage(usage, counted.usage);
    cost += counted.cost ? exactCost(counted.cost).total : 0n;
    unpricedCalls += counted.cost ? 0 : 1;
  }

  function isAnswered(): boolean {
    return last !== null && !last.content.some(isToolUse);
  }

  const accepted = acceptedPrompt(prompt, "queue");
  write(prompt.time, accepted, runStarted(accepted.data, "json"));
  enterPrompt(prompt);

  return {
    id,
    isAnswered,
    answered(answer, { messageId, resultsMessageId: of, time }) {
      closeCalls(time);
      step += 1;
      failure = null;
      last = answer;
      const { content } = answer;
      const calls = content.filter(isToolUse);
      count(answer);
      const reply = { ...answer, messageId, resultsMessageId: () => of, durationMs: passed(time) };
      write(time, ...observedStep(place(), { reply, attempt: 1, ...transcript }));
      const rows = rowsOf(messageId, "assistant", [...content]).length;
      enter({ messageId, role: "assistant", rows, tokens: estimateTokens(content), isResults: false, time });
      resultsMessageId = of;
      results = calls.length;
      calls.forEach(({ id: toolUseId, name, input }, part) => {
        open.set(toolUseId, { name, input, part, time });
        write(time, toolStarted(place(), { toolUseId, name, input }));
      });
    },
    leftBehind(answer, time) {
      count(answer);
      write(time, stepAbandoned(place(), answer));
    },
    resulted({ toolUseId, content, isError, time }) {
      const call = open.get(toolUseId);
      if (!call) return;
      const durationMs = Math.max(0, time - call.time);
      completed(toolUseId, call, { content, isError, outcome: isError ? "failed" : "committed", durationMs, time });
      passed(time);
    },
    steered(content, at) {
      const steering = { content, ...at };
      write(at.time, acceptedPrompt(steering, "steer"));
      enterPrompt(steering);
    },
    counted: count,
    noticed({ messageId, subtype, entry, time }) {
      write(time, runtimeNoticed({ runId: id }, { messageId, subtype, notice: entry }));
    },
    failed(reason) {
      failure = reason;
    },
    end(time) {
      const isWhole = isAnswered();
      closeCalls(time);
      passed(time);
      const totals = { ...place(), usage, costPicos: String(cost), unpricedCalls, filesGenerated: 0, startedAt };
      const error = failure ?? (isWhole ? null : INTERRUPTED);
      if (error) write(time, runFailed(totals, { ...endOf(error), now }));
      else {
        const stopReason = stopReasonOf(last?.stopReason ?? null);
        const finalResponse = finalText([...(last?.content ?? [])]);
        write(time, runCompleted(totals, { stopReason, finalResponse, now }));
      }
    },
  };
}

/** Returns the end of a failed run. If Claude Code was interrupted, the run is cancelled. */
function endOf(error: Failure): RunEnd {
  return error.code === INTERRUPTED.code ? { stopReason: "cancelled", error } : endWith(error);
}
