import { z } from "zod";

export const TextBlock = z.looseObject({ type: z.literal("text"), text: z.string() });

/** Since Claude Code 2.1.27x, the text is often empty, and only the signature is stored. */
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

/** A block of an unknown type, unchanged. */
const UnknownBlock = z.looseObject({ type: z.string() });

export const ContentBlock = z.union([
  TextBlock,
  ThinkingBlock,
  ToolUseBlock,
  ToolResultBlock,
  ImageBlock,
  UnknownBlock,
]);
