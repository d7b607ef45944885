import { z } from "zod";

export const TextBlock = z.looseObject({ type: z.literal("text"), text: z.string() });

/** Since 2.1.27x the text is often empty and only the signature is kept. */
export const ThinkingBlock = z.looseObject({
  type: z.literal("thinking"),
  thinking: z.string(),
  signature: z.string().optional(),
});

export const ToolUseBlock = z.looseObject({
  type: z.literal("tool_use"),
  id: z.string(),
  name: z.string(),
  input: z.unknown(),
});

export const ToolResultBlock = z.looseObject({
  type: z.literal("tool_result"),
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).nullish(),
  is_error: z.boolean().nullish(),
});

const ImageBlock = z.looseObject({ type: z.literal("image"), source: z.looseObject({ type: z.string() }) });

/** A block of an unknown type, kept as it is. */
const UnknownBlock = z.looseObject({ type: z.string() });

export const ContentBlock = z.union([
  TextBlock,
  ThinkingBlock,
  ToolUseBlock,
  ToolResultBlock,
  ImageBlock,
  UnknownBlock,
]);

/** Block types that this version knows by name; `checkFormat` counts the others. */
export const knownBlockTypes: ReadonlySet<string> = new Set([
  "text",
  "thinking",
  "redacted_thinking",
  "tool_use",
  "tool_result",
  "image",
  "document",
  "fallback",
  "server_tool_use",
  "web_search_tool_result",
  "web_fetch_tool_result",
  "tool_reference",
  "mcp_tool_use",
  "mcp_tool_result",
  "code_execution_tool_result",
  "search_result",
]);
