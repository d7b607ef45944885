/**
 * The prompt cache knows which beginnings (prefixes) of prompts were sent before.
 *
 * A prompt is a list of segments: tools, then system, then the blocks of the messages. A breakpoint (`cache_control`)
 * stores the prefix that ends there, if it has at least 1,024 tokens. A later request to the same model reads the
 * longest stored prefix that ends at a breakpoint of the request, or at most 19 segments before a breakpoint. A stored
 * prefix expires 5 minutes after its last use, or an hour with `ttl: "1h"`.
 */
import { hash } from "node:crypto";
import { bytesOf, tokensOf } from "./tokens.ts";
import { blocksOf, type Block, type CacheControl, type Message, type MessagesRequest, type Usage } from "./wire.ts";

const MINIMUM_TOKENS = 1024;
const LOOKBACK = 20;
const LIFETIME_MS = { "5m": 5 * 60_000, "1h": 60 * 60_000 } as const;
const MAXIMUM_ENTRIES = 20_000;

type Ttl = keyof typeof LIFETIME_MS;
export type Prompt = Pick<MessagesRequest, "model" | "messages" | "system" | "tools" | "cacheControl">;
type InputUsage = Pick<
  Usage,
  "input_tokens" | "cache_creation_input_tokens" | "cache_read_input_tokens" | "cache_creation"
>;

export interface PromptCache {
  /** Returns the usage of a prompt, split into cached and new tokens, and stores its prefixes. */
  measure(prompt: Prompt): InputUsage;
}

export function createPromptCache({ now }: { readonly now: () => number }): PromptCache {
  const entries = new Map<string, { expiresAt: number; readonly ttl: Ttl }>();

  function longestHit(marks: readonly number[], keys: readonly string[], at: number): number {
    for (const mark of marks.toReversed()) {
      for (let index = mark; index >= 0 && index > mark - LOOKBACK; index -= 1) {
        const entry = entries.get(keys[index] ?? "");
        if (!entry || entry.expiresAt <= at) continue;
        entry.expiresAt = at + LIFETIME_MS[entry.ttl];
        return index;
      }
    }
    return -1;
  }

  function store(key: string, ttl: Ttl, at: number): void {
    const oldest = entries.size >= MAXIMUM_ENTRIES ? entries.keys().next().value : undefined;
    if (oldest !== undefined) entries.delete(oldest);
    entries.set(key, { expiresAt: at + LIFETIME_MS[ttl], ttl });
  }

  return {
    measure(prompt) {
      const segments = segmentsOf(prompt);
      const total = segments.at(-1)?.tokens ?? 0;
      const marks = segments.flatMap(({ ttl, tokens }, index) => (ttl && tokens >= MINIMUM_TOKENS ? [index] : []));
      const last = marks.at(-1);
      if (last === undefined) return inputUsage(total, 0, { "5m": 0, "1h": 0 });

      const at = now();
      const keys = chainOfHashes(prompt.model, segments.slice(0, last + 1));
      const hit = longestHit(marks, keys, at);
      const read = segments[hit]?.tokens ?? 0;
      const written = { "5m": 0, "1h": 0 };
      let counted = read;
      for (const mark of marks) {
        const { ttl = "5m", tokens } = segments[mark] ?? { tokens: 0 };
        if (mark <= hit) continue;
        store(keys[mark] ?? "", ttl, at);
        written[ttl] += tokens - counted;
        counted = tokens;
      }
      return inputUsage(total - counted, read, written);
    },
  };
}

/** All tokens of a prompt, cached or not. */
export function countPrompt(prompt: Prompt): number {
  return segmentsOf(prompt).at(-1)?.tokens ?? 0;
}

interface Segment {
  readonly json: string;
  /** The tokens of the whole prefix that ends with this segment. */
  readonly tokens: number;
  readonly ttl?: Ttl;
}

function segmentsOf(prompt: Prompt): readonly Segment[] {
  const segments: Segment[] = [];
  let bytes = 0;
  const add = (owner: string, block: Block): void => {
    const mark = block.cache_control as CacheControl | undefined;
    const json = owner + JSON.stringify(mark ? { ...block, cache_control: undefined } : block);
    bytes += bytesOf(block, json);
    segments.push({ json, tokens: tokensOf(bytes), ...(mark && { ttl: mark.ttl ?? "5m" }) });
  };
  for (const tool of prompt.tools) add("tool", tool as Block);
  if (prompt.system !== "") for (const block of blocksOf(prompt.system)) add("system", block);
  for (const message of prompt.messages) for (const block of blocksOf(message.content)) add(ownerOf(message), block);

  const end = segments.at(-1);
  if (prompt.cacheControl && end) segments[segments.length - 1] = { ...end, ttl: prompt.cacheControl.ttl ?? "5m" };
  return segments;
}

// Returns one letter, because the role is part of the prefix, but should add almost no tokens.
function ownerOf(message: Message): string {
  return message.role.charAt(0);
}

function chainOfHashes(model: string, segments: readonly Segment[]): readonly string[] {
  let before = model;
  return segments.map(({ json }) => (before = hash("sha1", before + json, "base64")));
}

function inputUsage(rest: number, read: number, written: Readonly<Record<Ttl, number>>): InputUsage {
  return {
    input_tokens: rest,
    cache_creation_input_tokens: written["5m"] + written["1h"],
    cache_read_input_tokens: read,
    cache_creation: { ephemeral_5m_input_tokens: written["5m"], ephemeral_1h_input_tokens: written["1h"] },
  };
}
