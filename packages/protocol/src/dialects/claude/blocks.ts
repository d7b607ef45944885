import { type Content, type ContentBlock, type JsonObject, blocksOf } from "../../content.ts";
import type { MessageEventData } from "./responses.ts";

/**
 * Returns content with only the four block types of the specification. A block of another type gets the most similar of
 * the four types, keeps its content, and has the original type as `block_type`.
 */
export function claudeBlocks(content: Content): MessageEventData["content"] {
  return blocksOf(content).map(claudeBlock);
}

function claudeBlock(block: ContentBlock): MessageEventData["content"][number] {
  const { type: block_type } = block;
  switch (block_type) {
    case "text":
    case "thinking":
    case "tool_use":
    case "tool_result":
      return { ...block, type: block_type };
    case "redacted_thinking":
      return { thinking: "", ...block, type: "thinking", block_type };
    default:
      if (block_type.endsWith("tool_use")) return { ...block, type: "tool_use", block_type };
      if (block_type.endsWith("tool_result")) return { ...block, type: "tool_result", block_type };
      return { text: `[${block_type}]`, ...block, type: "text", block_type };
  }
}

const PIECES = new Set(["content_block_start", "content_block_delta", "content_block_stop"]);
/** Other deltas, such as signatures, are left out. The complete block follows and contains them. */
const DELTAS = new Set(["text_delta", "thinking_delta", "input_json_delta"]);

/**
 * Returns a draft piece with a block type of the specification. Returns undefined for a piece or a delta of a type that
 * the specification does not have.
 */
export function claudePiece(piece: JsonObject): JsonObject | undefined {
  if (!PIECES.has(String(piece["type"])) || typeof piece["index"] !== "number") return undefined;
  const { delta, content_block } = piece as { delta?: ContentBlock; content_block?: ContentBlock };
  if (delta && !DELTAS.has(delta.type)) return undefined;
  return content_block ? { ...piece, content_block: claudeBlock(content_block) } : piece;
}
