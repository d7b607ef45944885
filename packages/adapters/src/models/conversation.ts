import type { Turn } from "@skein/core";
import { type ContentBlock, type ToolUseBlock, blocksOf, isToolUse } from "@skein/protocol";

/** Converts a thinking budget to a level that most providers have. Returns undefined for no thinking. */
export function effortOf(thinkingTokens: number): "low" | "medium" | "high" | undefined {
  if (thinkingTokens === 0) return undefined;
  return thinkingTokens < 4096 ? "low" : thinkingTokens < 16_384 ? "medium" : "high";
}

/** Returns an image or a document as a `data:` URL. If the block has only a URL, returns that URL. */
export function dataUrl({ source }: ContentBlock): string {
  const { type, media_type, data, url } = source as Readonly<Record<string, string>>;
  return type === "url" ? String(url) : `data:${media_type};base64,${data}`;
}

/** Returns a plain-text document with its title. Returns undefined for a document of another type. */
export function documentText({ source, title }: ContentBlock): string | undefined {
  const { type, data } = source as Readonly<Record<string, string>>;
  if (type !== "text") return undefined;
  return typeof title === "string" ? `${title}\n\n${data}` : String(data);
}

/** Returns the texts of a tool result, for providers that accept only text. */
export function resultText({ content }: ContentBlock): string {
  if (typeof content === "string") return content;
  const blocks = Array.isArray(content) ? (content as ContentBlock[]) : [];
  const texts = blocks.flatMap((block) => (block.type === "text" ? [String(block["text"])] : []));
  const others = blocks.length - texts.length;
  const note =
    others === 0 ? [] : [`(${others} more ${others === 1 ? "part follows" : "parts follow"} in the next message.)`];
  return [...texts, ...note].join("\n");
}

/** Marks the text of a failed result, for providers without a field for failures. */
export function errorText(text: string): string {
  return text.startsWith("Error") ? text : `Error: ${text}`;
}

/** Returns a name for a document, because providers require a name for every file. */
export function titleOf({ title }: ContentBlock): string {
  return typeof title === "string" && title !== "" ? title : "document.pdf";
}

/** Returns the text of a block. Returns the JSON of a block without text. */
export function plainText(block: ContentBlock): string {
  return typeof block["text"] === "string" ? block["text"] : JSON.stringify(block);
}

/**
 * Splits a turn of the user. `results` are its tool results, from which callers use only the text. `parts` are the
 * images and files of the results, and then all other blocks of the turn.
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

/** Returns the tool call of a result, if the conversation still has the call. */
export function callOf(result: ContentBlock, turns: readonly Turn[]): ToolUseBlock | undefined {
  return turns
    .flatMap(({ content }) => blocksOf(content))
    .filter(isToolUse)
    .find(({ id }) => id === result["tool_use_id"]);
}
