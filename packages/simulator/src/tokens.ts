import type { Block } from "./wire.ts";

/** Every image or document counts as 1,600 tokens, whatever its size. */
const ATTACHMENT_BYTES = 1600 * 4;

/** The simulator's tokenizer: a token is four bytes of UTF-8, rounded up. Deterministic, and near enough for English. */
export function tokensOf(bytes: number): number {
  return Math.ceil(bytes / 4);
}

/** The size of a block for counting tokens: the bytes of its JSON text, with a fixed size for images and documents. */
export function bytesOf(block: Block, json: string): number {
  let bytes = Buffer.byteLength(json);
  if (block.type !== "image" && block.type !== "document" && block.type !== "tool_result") return bytes;
  const parts = Array.isArray(block.content) ? [block, ...(block.content as Block[])] : [block];
  for (const part of parts) {
    const data = (part.source as { data?: unknown } | undefined)?.data;
    if (typeof data === "string" && part.type !== "text") bytes += ATTACHMENT_BYTES - data.length;
  }
  return bytes;
}

/**
 * The tokens of the model's output: text, thinking, and the names and inputs of its calls, without results of server
 * tools.
 */
export function outputTokens(content: readonly Block[]): { readonly all: number; readonly thinking: number } {
  let all = 0;
  let thinking = 0;
  for (const block of content) {
    if (block.type === "text") all += tokensOf(Buffer.byteLength(String(block.text)));
    if (block.type === "thinking") thinking += tokensOf(Buffer.byteLength(String(block.thinking)));
    if (block.type === "tool_use" || block.type === "server_tool_use") {
      all += tokensOf(Buffer.byteLength(`${String(block.name)}${JSON.stringify(block.input)}`));
    }
  }
  return { all: Math.max(1, all + thinking), thinking };
}
