import type { CallToolResult } from "@modelcontextprotocol/client";
import type { ContentBlock } from "@skein/protocol";

/** The largest number of base64 characters in an image for a model. */
const IMAGE_LENGTH = 5 * 1024 * 1024;

/**
 * Converts the result of an MCP tool to a result of a Skein tool. Throws if the server reports an error, so that the
 * model sees the error.
 */
export function toolOutput({ content, structuredContent, isError }: CallToolResult): unknown {
  const blocks = content.map(blockOf);
  if (isError) {
    const text = blocks.flatMap((block) => (block.type === "text" ? [String(block["text"])] : [])).join("\n");
    throw new Error(text || "The tool failed without saying why.");
  }
  if (blocks.length === 0) return structuredContent ?? "";
  return blocks;
}

function blockOf(block: CallToolResult["content"][number]): ContentBlock {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
      return block.data.length > IMAGE_LENGTH
        ? note(`The tool returned an image of ${block.data.length} characters, which is too large to show.`)
        : { type: "image", source: { type: "base64", media_type: block.mimeType, data: block.data } };
    case "audio":
      return note("The tool returned sound, which cannot be shown.");
    case "resource_link":
      return note(`The tool points to ${block.uri}.`);
    case "resource":
      return "text" in block.resource
        ? { type: "text", text: block.resource.text }
        : note(`The tool returned ${block.resource.uri}, which is not text.`);
  }
}

function note(text: string): ContentBlock {
  return { type: "text", text: `[${text}]` };
}
