import type { DraftPiece } from "../../draft-piece.ts";
import type { ContentBlock, JsonObject } from "../../content.ts";
import type { Failure } from "../../error.ts";
import type { Event, FactData } from "../../event.ts";

/**
 * Returns the events of the Messages API, which arrive in draft pieces, unchanged. If draft pieces were missed, makes
 * the events again from the stored message.
 *
 * If a model call is abandoned, an `error` event with `reset` follows, and the reader discards the sent part.
 */
export function createRaw(): (item: Event | DraftPiece) => readonly JsonObject[] {
  /** The message that is being streamed, and whether its last event was sent. */
  let open: { readonly id: string; ended: boolean } | undefined;
  const settled = new Set<string>();

  function giveUp(error: Failure): readonly JsonObject[] {
    if (!open) return [];
    settled.add(open.id);
    open = undefined;
    return [{ ...failure(error), reset: true }];
  }

  return (item) => {
    if ("event" in item) {
      if (settled.has(item.message_id)) return [];
      if (open?.id !== item.message_id) open = { id: item.message_id, ended: false };
      open.ended ||= item.event.type === "message_stop";
      return [item.event];
    }
    switch (item.event_type) {
      case "step.generated": {
        const { message_id, purpose } = item.data;
        if (purpose !== "step" && purpose !== "summary") return [];
        const complete = open?.id === message_id && open.ended;
        const cut = complete ? [] : giveUp({ code: "stream_cut", message: "Part of the stream was lost." });
        settled.add(message_id);
        open = undefined;
        return complete ? [] : [...cut, ...eventsOf(item.data)];
      }
      case "step.retried":
        return giveUp(item.data.error);
      case "step.error":
      case "step.abandoned": {
        const { message_id, content } = item.data;
        const error = item.event_type === "step.error" ? item.data.error : BROKEN_OFF;
        if (message_id === undefined || !content) return giveUp(error);
        const { model, usage } = item.event_type === "step.abandoned" ? item.data : lostIn(item.data);
        const given = giveUp(error);
        settled.add(message_id);
        return [...given, ...eventsOf({ message_id, content, model, usage, stop_reason: "interrupted" })];
      }
      case "session.failed":
        return [failure(item.data.error)];
      default:
        return [];
    }
  };
}

function failure({ code, message }: Failure): JsonObject {
  return { type: "error", error: { type: code, message } };
}

type Answer = Pick<FactData<"step.generated">, "message_id" | "content" | "model" | "usage" | "stop_reason">;

const BROKEN_OFF = { code: "abandoned", message: "The answer broke off before its end." };

function lostIn({ lost }: FactData<"step.error">): Pick<Answer, "model" | "usage"> {
  return lost ?? { model: "", usage: { input_tokens: 0, output_tokens: 0 } };
}

/** Returns the events that the Messages API sends for such a message. */
function eventsOf(data: Answer): readonly JsonObject[] {
  const { message_id: id, model, usage, stop_reason, content } = data;
  const message = { id, type: "message", role: "assistant", model, content: [], stop_reason: null, usage };
  return [
    { type: "message_start", message },
    ...content.flatMap((block, index) => [
      { type: "content_block_start", index, content_block: emptied(block) },
      ...deltas(block).map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason }, usage },
    { type: "message_stop" },
  ];
}

function emptied(block: ContentBlock): JsonObject {
  if (block.type === "text") return { type: "text", text: "" };
  if (block.type === "thinking") return { type: "thinking", thinking: "", signature: "" };
  return "input" in block ? { ...block, input: {} } : block;
}

function deltas(block: ContentBlock): readonly JsonObject[] {
  if (block.type === "text") {
    const citations = (block["citations"] as unknown[] | null | undefined) ?? [];
    const cited = citations.map((citation) => ({ type: "citations_delta", citation }));
    return [...cited, { type: "text_delta", text: block["text"] }];
  }
  if (block.type === "thinking")
    return [
      { type: "thinking_delta", thinking: block["thinking"] },
      { type: "signature_delta", signature: block["signature"] ?? "" },
    ];
  return "input" in block ? [{ type: "input_json_delta", partial_json: JSON.stringify(block["input"] ?? {}) }] : [];
}
