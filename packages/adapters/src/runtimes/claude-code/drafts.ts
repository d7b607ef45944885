import { type Live, type RunState, createOffsets } from "@skein/core";
import type { DraftPiece, JsonObject } from "@skein/protocol";
import type { SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { messageIdOf } from "./message-id.ts";
import type { ClaudeMessage } from "./sdk-messages.ts";

/** Publishes the model's text while it is streamed. */
export function createDrafts(live: Live, sessionId: string, run: Pick<RunState, "runId" | "step">) {
  const { runId, step: stepsBefore } = run;
  let replies = 0;
  let offsetOf = createOffsets();
  let piece: Omit<DraftPiece, "event" | "offset"> = {
    session_id: sessionId,
    run_id: runId,
    step: stepsBefore + 1,
    attempt: 1,
    message_id: "",
    isUnannounced: true,
  };
  return {
    publish({ event, parent_tool_use_id }: Extract<SDKMessage, { type: "stream_event" }>): void {
      if (parent_tool_use_id !== null) return;
      if (event.type === "message_start") {
        const message_id = messageIdOf(sessionId, event.message.id);
        piece = { ...piece, step: stepsBefore + replies + 1, message_id };
        offsetOf = createOffsets();
      }
      if (piece.message_id === "") return;
      const raw = event as unknown as JsonObject & { readonly type: string };
      live.publish({ ...piece, offset: offsetOf(raw), event: raw });
    },
    heard(message: ClaudeMessage): void {
      if (message.kind === "reply" || message.kind === "broken") replies += 1;
    },
    /** Clears the draft, because the log now has the whole text. */
    written(message: ClaudeMessage): void {
      if (
        (message.kind === "reply" || message.kind === "broken") &&
        messageIdOf(sessionId, message.apiMessageId) === piece.message_id
      )
        live.clear(sessionId);
    },
  };
}
