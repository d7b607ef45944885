import type { FactData, JsonObject, Message } from "@skein/protocol";
import { estimateTokens } from "../../log/estimate-tokens.ts";
import { rowsOf } from "../../log/message-rows.ts";
import type { RunState, SessionState } from "../../log/state.ts";
import { type FactOf, type Place, inStep } from "./place.ts";

/**
 * Makes the fact `message.created` for a prompt, the last reply, or the results of its calls. The message enters the
 * transcript.
 */
export function messageEntered(state: SessionState, messageId: string): FactOf<"message.created"> {
  const run = state.run as RunState;
  const isResults = messageId === run.resultsMessageId;
  const pending = state.pending[messageId];
  const role: Message["role"] = isResults ? "user" : (pending?.role ?? "user");
  const content: unknown = isResults ? run.calls.map((call) => call.result) : pending?.content;
  // The tokens of a reply were counted when the model made the reply.
  const isMeasured = run.replyId === messageId;
  return messageCreated(run, {
    messageId,
    role,
    rows: isResults ? run.calls.length : rowsOf(messageId, role, pending?.content ?? "").length,
    isResults,
    before: { messages: state.transcript.length, tokens: state.contextTokens },
    tokens: isMeasured ? 0 : estimateTokens(content),
  });
}

/** Makes the fact `message.created`: a message enters a transcript. */
export function messageCreated(
  place: Place,
  message: {
    readonly messageId: string;
    readonly role: Message["role"];
    readonly rows: number;
    /** Whether the message contains tool results. */
    readonly isResults: boolean;
    readonly before: { readonly messages: number; readonly tokens: number };
    /** How many tokens the message adds to the context. */
    readonly tokens: number;
  },
): FactOf<"message.created"> {
  const { messageId, role, rows, isResults, before, tokens } = message;
  return {
    event_type: "message.created",
    data: {
      message_id: messageId,
      ...inStep(place),
      role,
      rows,
      transformation_type: transformation(role, isResults),
      messages_before_count: before.messages,
      messages_after_count: before.messages + 1,
      tokens_before: before.tokens,
      tokens_after: before.tokens + tokens,
    },
  };
}

function transformation(role: Message["role"], isResults: boolean): FactData<"message.created">["transformation_type"] {
  if (isResults) return "tool_result_added";
  return role === "assistant" ? "assistant_message_added" : "user_message_added";
}

export function titleGenerated(title: string): FactOf<"title.generated"> {
  return { event_type: "title.generated", data: { title } };
}

/**
 * Makes the fact `answer.validated`: the agent's code has checked the final answer. `problem` is undefined if it is
 * valid.
 */
export function answerValidated(place: Place, problem: string | undefined): FactOf<"answer.validated"> {
  return {
    event_type: "answer.validated",
    data: { ...inStep(place), passed: problem === undefined, reason: problem ?? null },
  };
}

/**
 * Makes the fact `transcript.repaired`: the context was repaired, because a call had no result or a result had no call.
 */
export function transcriptRepaired(place: Place, repairs: readonly JsonObject[]): FactOf<"transcript.repaired"> {
  return { event_type: "transcript.repaired", data: { ...inStep(place), repairs: [...repairs] } };
}

/**
 * Makes the fact `transcript.appended`, with entries of a Claude Code transcript. `subpath` names the transcript if it
 * is the transcript of a subagent.
 */
export function transcriptAppended(
  entries: readonly JsonObject[],
  subpath: string | null,
  oddLines: NonNullable<FactData<"transcript.appended">["odd_lines"]> = [],
): FactOf<"transcript.appended"> {
  return {
    event_type: "transcript.appended",
    data: { entries: [...entries], subpath, ...(oddLines.length > 0 && { odd_lines: oddLines }) },
  };
}
