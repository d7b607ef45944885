import type { Turn } from "@skein/core";
import { type ContentBlock, type ToolUseBlock, blocksOf, isToolUse } from "@skein/protocol";

/** How much a model should think, as one of the levels that most providers have; undefined for no thinking. */
export function effortOf(thinkingTokens: number): "low" | "medium" | "high" | undefined {
  if (thinkingTokens === 0) return undefined;
  return thinkingTokens < 4096 ? "low" : thinkingTokens < 16_384 ? "medium" : "high";
}

/** An image or a document as a `data:` URL with its content, or as the URL of the content. */
export function dataUrl({ source }: ContentBlock): string {
  const { type, media_type, data, url } = source as Readonly<Record<string, string>>;
  return type === "url" ? String(url) : `data:${media_type};base64,${data}`;
}

/** The text of a plain-text document, with its title; undefined for any other document. */
export function documentText({ source, title }: ContentBlock): string | undefined {
  const { type, data } = source as Readonly<Record<string, string>>;
  if (type !== "text") return undefined;
  return typeof title === "string" ? `${title}\n\n${data}` : String(data);
}

/** The texts of a result, for providers whose results are text. */
export function resultText({ content }: ContentBlock): string {
  if (typeof content === "string") return content;
  const blocks = Array.isArray(content) ? (content as ContentBlock[]) : [];
  const texts = blocks.flatMap((block) => (block.type === "text" ? [String(block["text"])] : []));
  const others = blocks.length - texts.length;
  const note =
    others === 0 ? [] : [`(${others} more ${others === 1 ? "part follows" : "parts follow"} in the next message.)`];
  return [...texts, ...note].join("\n");
}

/** The text of a failed result, for providers without a field for failures. */
export function errorText(text: string): string {
  return text.startsWith("Error") ? text : `Error: ${text}`;
}

/** The name of a document, which providers require for every file. */
export function titleOf({ title }: ContentBlock): string {
  return typeof title === "string" && title !== "" ? title : "document.pdf";
}

/** The text of a block; for another kind of block, its content as text. */
export function plainText(block: ContentBlock): string {
  return typeof block["text"] === "string" ? block["text"] : JSON.stringify(block);
}

/**
 * Splits a turn of the user: `results` are its tool results, of which only the text is meant. `parts` are its other
 * blocks, after the images and files of the results.
 */
export function splitTurn({ content }: Turn): {
  readonly results: readonly ContentBlock[];
  readonly parts: readonly ContentBlock[];
} {
  const blocks = blocksOf(content);
  const results = blocks.filter(({ type }) => type === "tool_result");
  const shown = results.flatMap((result) =>
    Array.isArray(result["content"]) ? (result["content"] as ContentBlock[]) : [],
  );
  const parts = [
    ...shown.filter(({ type }) => type !== "text"),
    ...blocks.filter(({ type }) => type !== "tool_result"),
  ];
  return { results, parts };
}

/** The call that a result belongs to, if the conversation still has it. */
export function callOf(result: ContentBlock, turns: readonly Turn[]): ToolUseBlock | undefined {
  return turns
    .flatMap(({ content }) => blocksOf(content))
    .filter(isToolUse)
    .find(({ id }) => id === result["tool_use_id"]);
}
