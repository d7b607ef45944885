import { z } from "zod";

/** A JSON object with any keys. */
export const JsonObject = z.record(z.string(), z.unknown());
export type JsonObject = z.infer<typeof JsonObject>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A block of any type. */
export const AnyBlock = z.looseObject({ type: z.string() });
const TextBlock = z.looseObject({ type: z.literal("text"), text: z.string() });
const ThinkingBlock = z.looseObject({ type: z.literal("thinking"), thinking: z.string() });
const ToolUseBlock = z.looseObject({
  type: z.literal("tool_use"),
  id: z.string(),
  name: z.string(),
  input: z.unknown(),
});
const ToolResultBlock = z.looseObject({
  type: z.literal("tool_result"),
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(JsonObject)]).optional(),
  is_error: z.boolean().optional(),
});
const ImageBlock = z.looseObject({ type: z.literal("image"), source: JsonObject });
const DocumentBlock = z.looseObject({ type: z.literal("document"), source: JsonObject });

/** The schemas of the block types that are checked. */
export const KNOWN_BLOCKS: Readonly<Record<string, z.ZodType>> = {
  text: TextBlock,
  thinking: ThinkingBlock,
  tool_use: ToolUseBlock,
  tool_result: ToolResultBlock,
  image: ImageBlock,
  document: DocumentBlock,
};

export type TextBlock = z.infer<typeof TextBlock>;
export type ToolUseBlock = z.infer<typeof ToolUseBlock>;
export type ToolResultBlock = z.infer<typeof ToolResultBlock>;

/**
 * One block of a message, as the Messages API has it.
 *
 * Known types are checked. All other types pass through unchanged, key order included.
 */
export const ContentBlock: z.ZodType<ContentBlock, ContentBlock> = z.any().superRefine((block, context) => {
  // The block is only checked, not replaced by the parsed copy: a copy would have another key order and lack a key like
  // `__proto__`.
  const type = AnyBlock.safeParse(block).data?.type;
  const schema = type !== undefined && Object.hasOwn(KNOWN_BLOCKS, type) ? KNOWN_BLOCKS[type] : AnyBlock;
  const problems = schema?.safeParse(block).error?.issues ?? [];
  for (const { path, message } of problems) context.addIssue({ code: "custom", path: [...path], message });
});
export type ContentBlock = z.infer<typeof AnyBlock>;

/** The content of a message: blocks, or plain text as their short form. */
export const Content = z.union([z.string(), z.array(ContentBlock)], {
  error: "Expected text or a list of content blocks.",
});
export type Content = z.infer<typeof Content>;

/** The content as blocks, whichever form it came in. */
export function blocksOf(content: Content): readonly ContentBlock[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** All text of a message, its text blocks joined by line breaks. */
export function textOf(content: Content): string {
  if (typeof content === "string") return content;
  return content
    .filter((block): block is TextBlock => block.type === "text" && typeof block["text"] === "string")
    .map((block) => block.text)
    .join("\n");
}

export function isToolUse(block: ContentBlock): block is ToolUseBlock {
  return block.type === "tool_use";
}
