import { type Message, blocksOf } from "@skein/protocol";
import type { TextPaint } from "./styled.ts";
import { visible, visibleLine } from "./visible-text.ts";
import { shorten } from "./width.ts";

/** Formats a message of a conversation below the name of its author. */
export function messageText(paint: TextPaint, { role, content }: Message): string {
  const { bold, cyan, dim } = paint;
  const parts = blocksOf(content).map((block) => {
    switch (block.type) {
      case "text":
        return visible(String(block["text"]));
      case "tool_use":
        return cyan(`→ ${shorten(`${String(block["name"])} ${JSON.stringify(block["input"])}`, 160)}`);
      case "tool_result": {
        const result = typeof block["content"] === "string" ? block["content"] : JSON.stringify(block["content"]);
        return dim(`${block["is_error"] === true ? "✗" : "✓"} ${shorten(result ?? "", 160)}`);
      }
      default:
        return dim(`[${visibleLine(block.type)}]`);
    }
  });
  return `\n${bold(role)}\n${parts.join("\n")}\n`;
}
