import { type Content, type ContentBlock, blocksOf } from "@skein/protocol";

/** The most characters of text in one message: twice what the largest context window holds. */
const TEXT_LIMIT = 8 * 1024 * 1024;

/** The first bytes of the images that models read. */
const IMAGES: Readonly<Record<string, readonly (readonly number[])[]>> = {
  "image/png": [[0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  "image/jpeg": [[0xff, 0xd8, 0xff]],
  "image/gif": [[0x47, 0x49, 0x46, 0x38]],
  "image/webp": [[0x52, 0x49, 0x46, 0x46]],
};

/**
 * Returns why a model would reject this content, as a sentence. Such content must not enter a transcript, because every
 * later call would fail.
 */
export function contentProblem(
  content: Content,
): { readonly tooLarge: boolean; readonly sentence: string } | undefined {
  const blocks = blocksOf(content);
  if (blocks.length === 0) return problem("A message needs at least one character or one block.");
  let characters = 0;
  for (const block of blocks) {
    if (NOT_SAID.has(block.type)) return problem(notSaid(block.type));
    if (isBlank(block)) return problem("A text needs at least one character other than spaces.");
    characters += block.type === "text" ? String(block["text"]).length : 0;
    const image = imageProblem(block);
    if (image !== undefined) return problem(image);
  }
  if (characters <= TEXT_LIMIT) return undefined;
  return { tooLarge: true, sentence: `A message may have ${TEXT_LIMIT} characters, and this one has ${characters}.` };
}

/** Returns why a model would reject this content as the result of a call, as a sentence. */
export function answerProblem(content: Content): string | undefined {
  if (typeof content === "string") return undefined;
  for (const block of content) {
    const { type } = block;
    if (!isResultBlock(block))
      return `An answer may not contain blocks of the type ${type}. It may contain ${RESULT_BLOCKS.join(", ")}.`;
    if (isBlank(block)) return "A text needs at least one character other than spaces.";
    const image = imageProblem(block);
    if (image !== undefined) return image;
  }
  return undefined;
}

const RESULT_BLOCKS: readonly unknown[] = ["text", "image", "document", "search_result"];

/** Whether a value is a block that a tool result may contain. */
export function isResultBlock(value: unknown): value is ContentBlock {
  return RESULT_BLOCKS.includes((value as { type?: unknown } | null)?.type);
}

/** Whether a text block is empty or only white space, which models reject. */
export function isBlank(block: ContentBlock): boolean {
  return block.type === "text" && typeof block["text"] === "string" && block["text"].trim() === "";
}

/** Blocks that only runs produce. A prompt with such a block is rejected, because the model would not see the block. */
const NOT_SAID = new Set(["tool_use", "tool_result", "server_tool_use", "thinking", "redacted_thinking"]);

function notSaid(type: string): string {
  const hint = type === "tool_result" ? " Answer the call that the result belongs to instead." : "";
  return `A prompt may not have blocks of the type ${type}, which only runs make.${hint}`;
}

function problem(sentence: string): { readonly tooLarge: boolean; readonly sentence: string } {
  return { tooLarge: false, sentence };
}

/** Returns why a model cannot read an image block, as a sentence. Undefined for valid images and other blocks. */
export function imageProblem(block: ContentBlock): string | undefined {
  if (block.type !== "image") return undefined;
  const source = (block["source"] ?? {}) as { type?: unknown; url?: unknown; media_type?: unknown; data?: unknown };
  if (source.type === "url")
    return /^https?:\/\//i.test(String(source.url)) ? undefined : "The address of an image begins with https://.";
  if (source.type !== "base64") return undefined;
  const starts = IMAGES[String(source.media_type)];
  if (!starts)
    return `Expected an image of the type ${Object.keys(IMAGES).join(", ")}. This image has the type ${String(source.media_type)}.`;
  const data = String(source.data);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(data) || data.length % 4 !== 0) return "The data of an image is not base64.";
  const first = atob(data.slice(0, 16));
  const fits = starts.some((start) => start.every((byte, index) => first.charCodeAt(index) === byte));
  return fits ? undefined : `The data of an image is not ${String(source.media_type)}.`;
}
