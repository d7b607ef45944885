import type { ContentBlock } from "@skein/protocol";
import type { Carry, LeftOut, ModelAbilities, Turn } from "../ports/model.ts";

/** The model that gets a conversation. Other models may have written parts of the conversation. */
export interface Reader {
  /** The name of the model, as in `carry`. */
  readonly name: string;
  /**
   * Whether the model can read blocks that only Claude can read: signed thinking, and results of the provider's tools.
   */
  readonly readsClaude: boolean;
  readonly abilities: Pick<ModelAbilities, "images" | "pdf">;
}

/**
 * Returns the conversation for a model, and what had to be left out. If nothing was left out, `turns` is the given
 * array.
 */
export function carriedOver(
  turns: readonly Turn[],
  reader: Reader,
): { readonly turns: readonly Turn[]; readonly leftOut: readonly LeftOut[] } {
  if (turns.every(({ content }) => typeof content === "string" || content.every((block) => isPlain(block, reader))))
    return { turns, leftOut: [] };
  const leftOut: LeftOut[] = [];
  const kept = turns.flatMap((turn, at) => {
    if (typeof turn.content === "string") return [turn];
    const leave = (block: string, why: string): void => void leftOut.push({ turn: at, block, why });
    const content = turn.content.flatMap((block) => shown(block, reader, leave));
    return content.length === 0 ? [] : [{ role: turn.role, content }];
  });
  return { turns: kept, leftOut };
}

/** Returns the data that a block carries for the model that wrote it. */
export function carryOf(block: ContentBlock): Carry | undefined {
  return block["carry"] as Carry | undefined;
}

const THINKING = new Set(["thinking", "redacted_thinking"]);

/** Calls and results of tools that the provider ran: `server_tool_use`, `web_search_tool_result`, `mcp_tool_use` … */
function isOfProvider({ type }: ContentBlock): boolean {
  return type === "container_upload" || /^(?:server|mcp)_tool_|._tool_result$/.test(type);
}

/** Returns whether a block may be sent unchanged. */
function isPlain(block: ContentBlock, reader: Reader): boolean {
  const carry = carryOf(block);
  if (carry) return carry.by === reader.name;
  if (THINKING.has(block.type) || isOfProvider(block)) return reader.readsClaude;
  if (block.type === "image") return reader.abilities.images;
  if (block.type === "document") return reader.abilities.pdf;
  return innerBlocks(block).every((inner) => isPlain(inner, reader));
}

function shown(
  block: ContentBlock,
  reader: Reader,
  leave: (block: string, why: string) => void,
): readonly ContentBlock[] {
  if (isPlain(block, reader)) return [block];
  const { carry, ...plain } = block as ContentBlock & { readonly carry?: Carry };
  if (THINKING.has(block.type)) {
    leave(block.type, `Only ${carry?.by ?? "Claude"} can read its own thinking.`);
    return [];
  }
  if (carry) return shown(plain, reader, leave);
  if (isOfProvider(block)) {
    leave(block.type, "Only Claude can read the results of tools that its provider ran.");
    return [];
  }
  if (block.type === "image" || block.type === "document") {
    const kind = block.type === "image" ? "image" : "document";
    leave(block.type, `${reader.name} cannot read ${kind}s.`);
    return [{ type: "text", text: `[The ${kind} that was here is left out: ${reader.name} cannot read ${kind}s.]` }];
  }
  const content = innerBlocks(block).flatMap((inner) => shown(inner, reader, leave));
  return [{ ...plain, content }];
}

function innerBlocks({ type, content }: ContentBlock): readonly ContentBlock[] {
  return type === "tool_result" && Array.isArray(content) ? (content as ContentBlock[]) : [];
}
