/** An answer as the events of a stream. */
import type { AssistantMessage, Block } from "../../wire.ts";
import { DEFAULT_CHUNK, inputText, pieces, type StreamEvent } from "../stream.ts";

const KINDS: Readonly<Record<string, StreamEvent["kind"]>> = {
  message_start: "start",
  ping: "start",
  content_block_delta: "delta",
  message_delta: "end",
  message_stop: "end",
};

export function streamEventsOf(message: AssistantMessage, chunk: number = DEFAULT_CHUNK): readonly StreamEvent[] {
  const events: StreamEvent[] = [startOf(message), streamEvent("ping", { type: "ping" })];
  for (const [index, block] of message.content.entries()) {
    events.push(
      streamEvent("content_block_start", { type: "content_block_start", index, content_block: opening(block) }),
    );
    for (const delta of deltasOf(block, Math.max(1, chunk))) {
      events.push(streamEvent("content_block_delta", { type: "content_block_delta", index, delta }));
    }
    events.push(streamEvent("content_block_stop", { type: "content_block_stop", index }));
  }
  events.push(endOf(message), streamEvent("message_stop", { type: "message_stop" }));
  return events;
}

export function streamEvent(event: string, data: object | string): StreamEvent {
  const json = typeof data === "string" ? data : JSON.stringify(data);
  return { text: `event: ${event}\ndata: ${json}\n\n`, kind: KINDS[event] ?? "part" };
}

function startOf(message: AssistantMessage): StreamEvent {
  const usage = { ...message.usage, output_tokens: 1, output_tokens_details: { thinking_tokens: 0 } };
  return streamEvent("message_start", {
    type: "message_start",
    message: {
      ...message,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      container: null,
      usage,
    },
  });
}

function endOf({ stop_reason, stop_sequence, stop_details, container, usage }: AssistantMessage): StreamEvent {
  return streamEvent("message_delta", {
    type: "message_delta",
    delta: { stop_reason, stop_sequence, stop_details, container },
    usage: {
      input_tokens: usage.input_tokens,
      cache_creation_input_tokens: usage.cache_creation_input_tokens,
      cache_read_input_tokens: usage.cache_read_input_tokens,
      output_tokens: usage.output_tokens,
      output_tokens_details: usage.output_tokens_details,
      server_tool_use: usage.server_tool_use,
    },
  });
}

/** Empties the fields that deltas will fill. Other blocks are sent whole. */
function opening(block: Block): Block {
  if (block.type === "text") return { ...block, text: "", ...(block.citations !== undefined && { citations: [] }) };
  if (block.type === "thinking") return { ...block, thinking: "", signature: "" };
  if (isUse(block)) return { ...block, input: {} };
  return block;
}

function deltasOf(block: Block, chunk: number): readonly object[] {
  if (block.type === "text") {
    const citations = Array.isArray(block.citations) ? (block.citations as unknown[]) : [];
    return [
      ...pieces(String(block.text), chunk).map((text) => ({ type: "text_delta", text })),
      ...citations.map((citation) => ({ type: "citations_delta", citation })),
    ];
  }
  if (block.type === "thinking") {
    return [
      ...pieces(String(block.thinking), chunk).map((thinking) => ({ type: "thinking_delta", thinking })),
      { type: "signature_delta", signature: block.signature },
    ];
  }
  if (!isUse(block)) return [];
  const json = inputText(block);
  const parts = ["", ...(json === "{}" ? [] : pieces(json, chunk))];
  return parts.map((partial_json) => ({ type: "input_json_delta", partial_json }));
}

function isUse(block: Block): boolean {
  return block.type === "tool_use" || block.type === "server_tool_use" || block.type === "mcp_tool_use";
}
