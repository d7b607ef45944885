import { Content, type ContentBlock, type JsonObject, blocksOf } from "../../content.ts";
import type { Event } from "../../event.ts";
import { timeOf } from "../../event-time.ts";
import { NO_USAGE, type Usage, type UsageTotals, addUsage } from "../../usage.ts";
import { initData } from "./init-frame.ts";
import type { SessionMessage } from "./responses.ts";
import { resultOfRun } from "./result-frame.ts";

/**
 * Makes rows of session_messages from the events of a session, which must come in order. An event makes at most one
 * row.
 */
export type MessageRows = (event: Event) => SessionMessage | undefined;

/** A message that has not entered the transcript yet. */
interface Waiting {
  readonly content: Content;
  readonly model?: string;
  readonly usage?: UsageTotals;
}

/**
 * Makes the rows of the Claude API's session_messages, with the blocks of the Messages API, in the order of the log.
 *
 * `GET …/messages` and SQL over any store use this function. The views of PostgreSQL (`stores/postgres/views/api.ts`)
 * and sqlite (`stores/sqlite/message-view.ts`) give the same rows, and a test compares all of them. Skein does not
 * store these rows in a table, because each message would be stored twice.
 */
export function createMessageRows(): MessageRows {
  const waiting = new Map<string, Waiting>();
  const results = new Map<string, { readonly part: number; readonly block: ContentBlock }[]>();
  let model = "";

  function contentOf(event: Event): JsonObject | undefined {
    switch (event.event_type) {
      case "session.created":
        ({ model } = event.data.agent);
        return undefined;
      case "prompt.accepted":
        waiting.set(event.data.message_id, { content: event.data.content });
        return undefined;
      case "step.generated": {
        const { message_id, content, model: by, usage } = event.data;
        waiting.set(message_id, { content, model: by, usage: usageOf(usage) });
        return undefined;
      }
      case "step.error":
      case "step.abandoned": {
        // The text of an interrupted answer.
        const { message_id, content } = event.data;
        if (message_id !== undefined && content) waiting.set(message_id, { content });
        return undefined;
      }
      case "tool.completed": {
        const { message_id, part, tool_use_id, content, is_error } = event.data;
        const block = { type: "tool_result", tool_use_id, content, ...(is_error && { is_error }) };
        results.set(message_id, [...(results.get(message_id) ?? []), { part, block }]);
        return undefined;
      }
      case "message.created":
        return entered(event.data.role, event.data.message_id);
      case "message.copied": {
        const { role, content, message_id } = event.data;
        return { type: role, role, content: blocksOf(content), uuid: message_id };
      }
      case "subagent.messaged": {
        const { role, content, model: by, usage, message_id, parent_tool_use_id } = event.data;
        return {
          type: role,
          role,
          content: blocksOf(content),
          uuid: message_id,
          model: by,
          usage: usage && usageOf(usage),
          parent_tool_use_id,
        };
      }
      case "runtime.started":
        return { subtype: "init", ...initData(event.data.info, event.session_id, model) };
      case "runtime.noticed": {
        const { subtype, notice, message_id } = event.data;
        return { type: "system", subtype, content: noticed(notice), uuid: message_id, notice };
      }
      case "step.retried": {
        const { attempt, error, delay_ms } = event.data;
        const notice = { attempt, error: error.message, error_status: error.status ?? null, retry_delay_ms: delay_ms };
        return { type: "system", subtype: "api_retry", content: [], notice };
      }
      case "session.completed":
      case "session.failed": {
        const { stop_reason } = event.data;
        const isFailed = event.event_type === "session.failed";
        return {
          subtype: isFailed ? stop_reason : "success",
          ...resultOfRun(event, event.session_id),
          error: isFailed ? event.data.error : null,
        };
      }
      default:
        return undefined;
    }
  }

  function entered(role: string, messageId: string): JsonObject {
    const parts = results.get(messageId);
    const { content, ...more } = waiting.get(messageId) ?? { content: [] };
    waiting.delete(messageId);
    results.delete(messageId);
    const blocks = parts?.toSorted((a, b) => a.part - b.part).map(({ block }) => block) ?? blocksOf(content);
    return { type: role, role, content: blocks, uuid: messageId, ...more };
  }

  return (event) => {
    const content = contentOf(event);
    if (!content) return undefined;
    const { session_id, sequence } = event;
    const { uuid } = content;
    const id = typeof uuid === "string" ? uuid : event.id;
    return { id, session_id, message_type: typeOf(event, content), content, created_at: timeOf(event), sequence };
  };
}

function typeOf({ event_type }: Event, { role }: JsonObject): SessionMessage["message_type"] {
  if (event_type === "session.completed" || event_type === "session.failed") return "result";
  return role === "user" || role === "assistant" ? role : "system";
}

/** Returns the text of a notice as blocks. */
export function noticed(notice: JsonObject): readonly ContentBlock[] {
  const text = [notice["content"], notice["message"], notice["summary"]].find((value) => typeof value === "string");
  if (text !== undefined) return blocksOf(text);
  // Claude Code writes some messages without the model, such as the notice of an interruption.
  const said = Content.safeParse((notice["message"] as { readonly content?: unknown } | undefined)?.content);
  return said.success ? blocksOf(said.data) : [];
}

export function usageOf(usage: Usage): UsageTotals {
  return addUsage(NO_USAGE, usage);
}
