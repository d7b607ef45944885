import { type ArrivingAnswer, createArrivingAnswer } from "@skein/core";
import type { Content, ContentBlock, Failure, JsonObject, ModelStreamEvent, Usage } from "@skein/protocol";
import type { SDKMessage, SDKResultMessage } from "@anthropic-ai/claude-agent-sdk";

/** A message of Claude Code, in Skein's format. */
export type ClaudeMessage =
  | { readonly kind: "started"; readonly info: JsonObject }
  | {
      readonly kind: "reply";
      /** The id of the answer in the Messages API. */
      readonly apiMessageId: string;
      readonly content: readonly ContentBlock[];
      readonly model: string;
      readonly usage: Usage;
      readonly stopReason: string | null;
      readonly durationMs: number;
    }
  /** An interrupted answer, with the text and usage until then. */
  | {
      readonly kind: "broken";
      readonly apiMessageId: string;
      readonly content: readonly ContentBlock[];
      readonly model: string;
      readonly usage: Usage;
      /** True if the number of output tokens is estimated from the text. */
      readonly estimated: boolean;
    }
  /** A prompt that was read during the current turn. */
  | { readonly kind: "steered"; readonly messageId: string }
  | { readonly kind: "results"; readonly results: readonly CallResult[] }
  | {
      readonly kind: "subagent";
      readonly messageId: string;
      readonly parentToolUseId: string;
      readonly role: "user" | "assistant";
      readonly content: Content;
      readonly model: string | null;
      readonly usage: Usage | null;
    }
  | { readonly kind: "noticed"; readonly messageId: string; readonly subtype: string; readonly notice: JsonObject }
  | { readonly kind: "retried"; readonly attempt: number; readonly error: Failure; readonly delayMs: number }
  | { readonly kind: "ended"; readonly result: SDKResultMessage };

export interface CallResult {
  readonly toolUseId: string;
  readonly content: Content;
  readonly isError: boolean;
}

/**
 * A message, and the uuids of its transcript entries. The message may become an event of the log only after these
 * entries are stored.
 */
export interface PendingMessage {
  readonly message: ClaudeMessage;
  readonly uuids: readonly string[];
}

/** Converts the SDK's messages to Skein's format. Collects the blocks of an answer, which arrive separately. */
export interface MessageReader {
  read(message: SDKMessage, now: number): readonly PendingMessage[];
  /**
   * Returns the assembled answer when one of its calls begins, because the answer is then complete. Returns nothing
   * while the answer is streamed.
   */
  settle(now: number): readonly PendingMessage[];
  /** Ends the streamed answer, because nothing more will arrive. Returns it as an interrupted answer. */
  breakOff(): readonly PendingMessage[];
}

interface Gathered {
  readonly apiMessageId: string;
  readonly model: string;
  readonly blocks: ContentBlock[];
  readonly uuids: Set<string>;
  usage: Usage;
  stopReason: string | null;
}

/** Messages that are not stored: they only matter when they arrive, or later messages repeat them. */
const NOT_KEPT: ReadonlySet<string> = new Set([
  "init",
  "status",
  "thinking_tokens",
  "session_state_changed",
  "control_request_progress",
  "hook_progress",
  "task_progress",
  "background_tasks_changed",
  "commands_changed",
]);

const NO_TOKENS: Usage = { input_tokens: 0, output_tokens: 0 };

export function createMessageReader(): MessageReader {
  let gathered: Gathered | undefined;
  /** The answer whose stream is open, with the usage reported so far. */
  let streaming:
    | { readonly id: string; readonly answer: ArrivingAnswer; usage: Usage; stopReason: string | null }
    | undefined;
  let startedAt = 0;
  /** The answers of subagents whose usage is already counted. */
  const counted = new Set<string>();

  function whole(now: number): readonly PendingMessage[] {
    if (!gathered) return [];
    const { apiMessageId, model, blocks, uuids, usage, stopReason } = gathered;
    gathered = undefined;
    const durationMs = Math.max(0, Math.round(now - startedAt));
    const message: ClaudeMessage = {
      kind: "reply",
      apiMessageId,
      content: blocks,
      model,
      usage,
      stopReason,
      durationMs,
    };
    return [{ message, uuids: [...uuids] }];
  }

  function gather(message: Extract<SDKMessage, { type: "assistant" }>, now: number): readonly PendingMessage[] {
    const { id, model, usage, stop_reason } = message.message;
    const before = gathered && gathered.apiMessageId !== id ? whole(now) : [];
    gathered ??= { apiMessageId: id, model, blocks: [], uuids: new Set(), usage: NO_TOKENS, stopReason: null };
    gathered.blocks.push(...(message.message.content as unknown as ContentBlock[]));
    gathered.uuids.add(message.uuid);
    gathered.usage = usageOf(usage);
    gathered.stopReason = stop_reason;
    return before;
  }

  /** Ends an interrupted answer, which people saw as a draft. */
  function breakOff(): readonly PendingMessage[] {
    if (!streaming) return [];
    const { id: apiMessageId, answer } = streaming;
    const uuids = gathered?.apiMessageId === apiMessageId ? [...gathered.uuids] : [];
    if (gathered?.apiMessageId === apiMessageId) gathered = undefined;
    streaming = undefined;
    const { model, usage, isCounted, content } = answer.soFar();
    const message = {
      kind: "broken",
      apiMessageId,
      content,
      model: model ?? "",
      usage,
      estimated: !isCounted,
    } as const;
    return [{ message, uuids }];
  }

  function stream({ event }: Extract<SDKMessage, { type: "stream_event" }>, now: number): readonly PendingMessage[] {
    switch (event.type) {
      case "message_start": {
        const before = whole(now);
        startedAt = now;
        const { id, usage } = event.message;
        streaming = { id, answer: createArrivingAnswer(id, id), usage: usageOf(usage), stopReason: null };
        streaming.answer.add(event as unknown as ModelStreamEvent);
        return before;
      }
      case "content_block_delta":
        streaming?.answer.add(event as unknown as ModelStreamEvent);
        return [];
      case "message_delta":
        if (streaming) {
          streaming.answer.add(event as unknown as ModelStreamEvent);
          // This event may have only some counters. The first event has the others.
          const known = Object.entries(event.usage ?? {}).filter(([, value]) => value !== null);
          streaming.usage = usageOf({ ...streaming.usage, ...Object.fromEntries(known) });
          streaming.stopReason = event.delta.stop_reason;
        }
        return [];
      case "message_stop": {
        const ended = streaming;
        streaming = undefined;
        // If a stream breaks, Claude Code calls the model again without streaming. The new answer has another id.
        if (!ended || gathered?.apiMessageId !== ended.id) return [];
        gathered.usage = ended.usage;
        gathered.stopReason = ended.stopReason;
        return whole(now);
      }
      default:
        return [];
    }
  }

  function inSubagent(message: Extract<SDKMessage, { type: "assistant" | "user" }>, parent: string): PendingMessage {
    const isReply = message.type === "assistant";
    const first = isReply && !counted.has(message.message.id);
    if (isReply) counted.add(message.message.id);
    const messageId = message.uuid ?? crypto.randomUUID();
    return {
      uuids: [messageId],
      message: {
        kind: "subagent",
        messageId,
        parentToolUseId: parent,
        role: message.type,
        content: message.message.content as unknown as Content,
        model: isReply ? message.message.model : null,
        usage: first ? usageOf(message.message.usage) : null,
      },
    };
  }

  function readUser(message: Extract<SDKMessage, { type: "user" }>, now: number): readonly PendingMessage[] {
    const { content } = message.message;
    const results = resultsIn(content as unknown as Content);
    const uuids = message.uuid === undefined ? [] : [message.uuid];
    if (results.length > 0) return [...whole(now), { message: { kind: "results", results }, uuids }];
    // Claude Code reports an interruption as a message of the user.
    return [...breakOff(), ...whole(now), noticed("user_message", message)];
  }

  return {
    breakOff,
    settle: (now) => (streaming && streaming.id === gathered?.apiMessageId ? [] : whole(now)),
    read(message, now) {
      switch (message.type) {
        case "stream_event":
          return message.parent_tool_use_id === null ? stream(message, now) : [];
        case "assistant":
          return message.parent_tool_use_id === null
            ? gather(message, now)
            : [inSubagent(message, message.parent_tool_use_id)];
        case "user":
          return message.parent_tool_use_id === null
            ? readUser(message, now)
            : [inSubagent(message, message.parent_tool_use_id)];
        case "result":
          return [...breakOff(), ...whole(now), { message: { kind: "ended", result: message }, uuids: [] }];
        case "system":
          if (message.subtype === "init")
            return [{ message: { kind: "started", info: message as unknown as JsonObject }, uuids: [] }];
          if (message.subtype === "api_retry") return [retried(message)];
          return NOT_KEPT.has(message.subtype) ? [] : [noticed(message.subtype, message)];
        default:
          // Other message types of the SDK, now or in the future, are not part of the conversation.
          return [];
      }
    },
  };
}

function noticed(subtype: string, message: SDKMessage): PendingMessage {
  const messageId = "uuid" in message && message.uuid ? message.uuid : crypto.randomUUID();
  return { message: { kind: "noticed", messageId, subtype, notice: message as unknown as JsonObject }, uuids: [] };
}

function retried(message: Extract<SDKMessage, { type: "system"; subtype: "api_retry" }>): PendingMessage {
  const { attempt, retry_delay_ms, error_status, error } = message;
  const failure: Failure = {
    code: error,
    message: `The Messages API failed${error_status === null ? "" : ` with ${error_status}`}; Claude Code tries again.`,
    ...(error_status !== null && { status: error_status }),
  };
  return { message: { kind: "retried", attempt, error: failure, delayMs: Math.round(retry_delay_ms) }, uuids: [] };
}

function resultsIn(content: Content): readonly CallResult[] {
  if (typeof content === "string") return [];
  return content
    .filter(({ type }) => type === "tool_result")
    .map((block) => ({
      toolUseId: String(block["tool_use_id"]),
      content: (block["content"] ?? "") as Content,
      isError: block["is_error"] === true,
    }));
}

/** Returns all fields of the usage. A missing count of input or output tokens becomes 0. */
function usageOf(usage: unknown): Usage {
  const given = usage as Partial<Usage> | null | undefined;
  return { ...given, input_tokens: given?.input_tokens ?? 0, output_tokens: given?.output_tokens ?? 0 };
}
