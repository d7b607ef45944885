import { type ContentBlock, KnownError, type Message, blocksOf, isToolUse } from "@skein/protocol";
import type { SessionState } from "./state.ts";

const NOT_CARRIED_OVER = "This call was still open when the session was forked; its outcome is not carried over.";

/** The messages that a fork begins with: the transcript up to one message, every call in it answered. */
export function forkedMessages(parent: SessionState, messageId?: string): readonly Omit<Message, "id">[] {
  const { transcript } = parent;
  const end = messageId === undefined ? transcript.length - 1 : transcript.findIndex(({ id }) => id === messageId);
  if (messageId !== undefined && end === -1)
    throw new KnownError("not_found", `Session ${parent.sessionId} has no message ${messageId} in its transcript.`);
  const messages = transcript.slice(0, end + 1).map(({ role, content }) => ({ role, content }));
  const open = openCalls(messages.at(-1));
  return open.length === 0 ? messages : [...messages, { role: "user", content: open.map(closed) }];
}

function openCalls(last: Omit<Message, "id"> | undefined): readonly string[] {
  if (last?.role !== "assistant") return [];
  return blocksOf(last.content)
    .filter(isToolUse)
    .map(({ id }) => id);
}

function closed(toolUseId: string): ContentBlock {
  return { type: "tool_result", tool_use_id: toolUseId, content: NOT_CARRIED_OVER, is_error: true };
}
