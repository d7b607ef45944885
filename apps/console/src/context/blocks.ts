import type { Event, Usage } from "@skein/protocol";
import type { Sent } from "../api/api.ts";
import { callWords } from "../session/call-words.ts";
import { terminalPieces } from "../text/terminal-lines.ts";

/** Where a part of a request came from. */
export type Origin = "tools" | "system" | "memory" | "compaction" | "message" | "model" | "result";

/** One part of what the model was sent. */
export interface SentBlock {
  readonly key: string;
  readonly origin: Origin;
  readonly title: string;
  readonly aside: string;
  readonly text: string;
  readonly tokens: number;
  cache: "read" | "written" | "new";
  micros: number;
  change: "same" | "new" | "changed" | "gone";
  /** What stood there at the step before, where it changed. */
  before?: string;
}

interface Body {
  readonly system?: unknown;
  readonly tools?: readonly unknown[];
  readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
}

/** Texts of the log that tell memory and summaries from what people said. */
export interface Known {
  readonly memories: readonly string[];
  readonly summaries: readonly string[];
}

export function knownTexts(events: readonly Event[]): Known {
  const memories: string[] = [];
  const summaries: string[] = [];
  for (const event of events) {
    if (event.event_type === "memory.retrieved") memories.push(...event.data.injected);
    if (event.event_type === "compaction.checked")
      for (const { content } of event.data.messages ?? [])
        summaries.push(typeof content === "string" ? content : JSON.stringify(content));
  }
  return { memories: memories.filter((text) => text.length > 20), summaries };
}

/** The parts of a request in the order in which they were sent: tools, system prompt, messages. */
export function blocksOfRequest(sent: Sent, known: Known): SentBlock[] {
  const body = sent.body as Body;
  const blocks: SentBlock[] = [];
  const add = (origin: Origin, title: string, text: string, aside = ""): void => {
    const key = `${blocks.length}`;
    blocks.push({ key, origin, title, aside, text, tokens: estimate(text), cache: "new", micros: 0, change: "same" });
  };
  if (body.tools && body.tools.length > 0)
    add("tools", `${body.tools.length} tools`, JSON.stringify(body.tools, null, 2), names(body.tools));
  for (const text of systemTexts(body.system))
    add(
      isMemory(text, known) ? "memory" : "system",
      isMemory(text, known) ? "Notes from memory" : "System prompt",
      text,
    );
  const calls = new Map<unknown, string>();
  for (const [at, message] of (body.messages ?? []).entries()) {
    const parts =
      typeof message.content === "string"
        ? [{ type: "text", text: message.content }]
        : (message.content as Record<string, unknown>[]);
    for (const part of parts) add(...described(part, { role: message.role, known, calls }), `message ${at + 1}`);
  }
  return blocks;
}

interface Around {
  readonly role: string;
  readonly known: Known;
  /** How each call was described, for its result. */
  readonly calls: Map<unknown, string>;
}

function described(part: Record<string, unknown>, { role, known, calls }: Around): [Origin, string, string] {
  const text = typeof part["text"] === "string" ? part["text"] : "";
  switch (part["type"]) {
    case "text":
      if (isMemory(text, known)) return ["memory", "Notes from memory", text];
      if (known.summaries.some((summary) => summary.includes(text) && text.length > 40))
        return ["compaction", "Summary of earlier messages", text];
      return [role === "assistant" ? "model" : "message", firstLine(text), text];
    case "thinking":
      return [
        "model",
        "Thought",
        text === "" && typeof part["thinking"] === "string" ? part["thinking"] : JSON.stringify(part),
      ];
    case "tool_use": {
      const { name, about } = callWords(label(part["name"]), part["input"]);
      calls.set(part["id"], `${name} ${about}`.trim());
      return ["model", `Called ${name} ${about}`.trim(), JSON.stringify(part["input"], null, 2)];
    }
    case "tool_result": {
      const result = plainText(contentText(part["content"]));
      return ["result", `Result of ${calls.get(part["tool_use_id"]) ?? "a call"}`, result];
    }
    case "image":
      return [role === "assistant" ? "model" : "message", "Picture", "(a picture)"];
    default:
      return [role === "assistant" ? "model" : "message", label(part["type"]), JSON.stringify(part, null, 2)];
  }
}

function label(value: unknown): string {
  return typeof value === "string" ? value : "block";
}

/** Output of a terminal without its colours. */
function plainText(output: string): string {
  return output.includes("\u001B")
    ? terminalPieces(output)
        .map(({ text }) => text)
        .join("")
    : output;
}

function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((one: Record<string, unknown>) => (typeof one["text"] === "string" ? one["text"] : `(${label(one["type"])})`))
    .join("\n");
}

function systemTexts(system: unknown): readonly string[] {
  if (typeof system === "string") return system === "" ? [] : [system];
  if (!Array.isArray(system)) return [];
  return system
    .map((one: Record<string, unknown>) => (typeof one["text"] === "string" ? one["text"] : ""))
    .filter((text) => text !== "");
}

function isMemory(text: string, { memories }: Known): boolean {
  return memories.some((memory) => text.includes(memory));
}

function names(tools: readonly unknown[]): string {
  return tools.map((tool) => label((tool as Record<string, unknown>)["name"])).join(", ");
}

function firstLine(text: string): string {
  const line = text.trim().split("\n")[0] ?? "";
  return line === "" ? "(empty)" : line.slice(0, 160);
}

/** A token is about four bytes of text. */
function estimate(text: string): number {
  return Math.max(1, Math.ceil(text.length / 4));
}

/**
 * Gives each part its tokens, cache and price. Only the sums are known for certain: the estimates of the parts are scaled to what
 * the model counted, and the cache always holds the beginning of a request.
 */
export function pricedBlocks(
  blocks: readonly SentBlock[],
  usage: Usage | null,
  rates: { read: number; written: number; input: number },
): SentBlock[] {
  const guessed = blocks.reduce((sum, { tokens }) => sum + tokens, 0);
  const read = usage?.cache_read_input_tokens ?? 0;
  const written = usage?.cache_creation_input_tokens ?? 0;
  const sent = usage ? usage.input_tokens + read + written : guessed;
  const scale = guessed === 0 ? 1 : sent / guessed;
  let at = 0;
  return blocks.map((block) => {
    const tokens = Math.round(block.tokens * scale);
    const middle = at + tokens / 2;
    at += tokens;
    const cache = middle <= read ? "read" : middle <= read + written ? "written" : "new";
    const rate = cache === "read" ? rates.read : cache === "written" ? rates.written : rates.input;
    return { ...block, tokens, cache, micros: tokens * rate };
  });
}

/** Marks what is new, changed or gone against the step before. A request grows at its end, so equal beginnings are the same. */
export function compared(now: readonly SentBlock[], before: readonly SentBlock[] | undefined): readonly SentBlock[] {
  if (!before) return now;
  const old = new Map(before.map((block) => [identity(block), block]));
  const used = new Set<string>();
  const marked = now.map((block, at): SentBlock => {
    const same = old.get(identity(block));
    if (same) {
      used.add(same.key);
      return block;
    }
    const other = before[at];
    if (
      other &&
      other.origin === block.origin &&
      other.title === block.title &&
      !now.some((one) => identity(one) === identity(other))
    ) {
      used.add(other.key);
      return { ...block, change: "changed", before: other.text };
    }
    return { ...block, change: "new" };
  });
  const gone = before
    .filter(({ key }) => !used.has(key))
    .map((block): SentBlock => ({ ...block, key: `gone-${block.key}`, change: "gone", micros: 0 }));
  return [...marked, ...gone];
}

function identity({ origin, text }: SentBlock): string {
  return `${origin} ${text}`;
}
