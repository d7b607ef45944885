import type { Usage } from "@skein/protocol";
import type { Sent } from "../api/api.ts";
import { callWords } from "../session/call-words.ts";
import { terminalPieces } from "../text/terminal-lines.ts";
import { plural } from "../ui/amounts.ts";

/** The origin of a part of a request. */
export type Origin = Sent["parts"][number]["origin"];

/** One part of the request to the model. */
export interface SentBlock {
  readonly key: string;
  readonly origin: Origin;
  readonly title: string;
  readonly aside: string;
  readonly text: string;
  /** The event of the log that contains the part. */
  readonly sequence: number | null;
  readonly tokens: number;
  cache: "read" | "written" | "new";
  micros: number;
  change: "same" | "new" | "changed" | "gone";
  /** The content at the previous step, if it changed. */
  before?: string;
}

interface Body {
  readonly system?: unknown;
  readonly tools?: readonly unknown[];
  readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
}

/** Returns the parts of a request in their order: tools, system prompt, messages. The server describes each part. */
export function blocksOfRequest({ body, parts }: Sent): SentBlock[] {
  const calls = new Map<unknown, string>();
  return parts.map(({ path, origin, sequence, tokens }) => {
    const value = valueAt(body, path);
    const { title, text, aside } = described(value, { origin, calls, path });
    return { key: path, origin, title, aside, text, sequence, tokens, cache: "new", micros: 0, change: "same" };
  });
}

/** Returns the block at a path such as `messages.2.0`. A plain text counts as one block. */
function valueAt(body: Body, path: string): unknown {
  const [place, at, part] = path.split(".");
  if (place === "tools") return body.tools ?? [];
  if (place === "system") return blockAt(body.system, Number(at));
  return blockAt(body.messages?.[Number(at)]?.content, Number(part));
}

function blockAt(content: unknown, at: number): unknown {
  return typeof content === "string" ? { type: "text", text: content } : (content as unknown[] | undefined)?.[at];
}

interface Around {
  readonly origin: Origin;
  /** The description of each tool call, by its id. The result of a call gets the same description. */
  readonly calls: Map<unknown, string>;
  readonly path: string;
}

interface Described {
  readonly title: string;
  readonly text: string;
  readonly aside: string;
}

function described(value: unknown, { origin, calls, path }: Around): Described {
  if (origin === "tools") {
    const tools = value as readonly unknown[];
    return { title: plural(tools.length, "tool"), text: JSON.stringify(tools, null, 2), aside: names(tools) };
  }
  const part = (value ?? {}) as Record<string, unknown>;
  const aside = path.startsWith("messages.") ? `message ${Number(path.split(".")[1]) + 1}` : "";
  const say = (title: string, text: string): Described => ({ title, text, aside });
  const text = typeof part["text"] === "string" ? part["text"] : "";
  switch (part["type"]) {
    case "text":
      return say(TITLES[origin] ?? firstLine(text), text);
    case "thinking":
      return say("Thought", typeof part["thinking"] === "string" ? part["thinking"] : JSON.stringify(part));
    case "tool_use": {
      const { name, about } = callWords(label(part["name"]), part["input"]);
      calls.set(part["id"], `${name} ${about}`.trim());
      return say(`Called ${name} ${about}`.trim(), JSON.stringify(part["input"], null, 2));
    }
    case "tool_result": {
      const result = plainText(contentText(part["content"]));
      return say(`Result of ${calls.get(part["tool_use_id"]) ?? "a call"}`, result);
    }
    case "image":
      return say("Picture", "(a picture)");
    default:
      return say(label(part["type"]), JSON.stringify(part, null, 2));
  }
}

const TITLES: Partial<Record<Origin, string>> = {
  system: "System prompt",
  memory: "Notes from memory",
  compaction: "Summary of earlier messages",
};

function label(value: unknown): string {
  return typeof value === "string" ? value : "block";
}

/** Returns the output of a terminal without its colours. */
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

function names(tools: readonly unknown[]): string {
  return tools.map((tool) => label((tool as Record<string, unknown>)["name"])).join(", ");
}

function firstLine(text: string): string {
  const line = text.trim().split("\n")[0] ?? "";
  return line === "" ? "(empty)" : line.slice(0, 160);
}

/**
 * Adds tokens, cache and price to each part. Only the totals are exact. The tokens of a part are an estimate, scaled to
 * the counts of the provider. A cache always holds the beginning of a request.
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

/**
 * Marks parts that are new, changed or removed since the previous step. A part with a new text counts as changed if, at
 * its position, the previous step had a part with the same origin and title that is no longer sent.
 */
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
