import { costOf } from "@skein/core";
import {
  type CallCost,
  type Content,
  type ContentBlock,
  earlierPrice,
  type JsonObject,
  type ModelPrice,
  type Usage,
} from "@skein/protocol";

/**
 * An answer of a model, assembled from its lines in Claude Code's file. Each line has a block and the usage of the
 * whole answer.
 */
export interface Answer {
  readonly model: string;
  readonly content: readonly ContentBlock[];
  readonly stopReason: string | null;
  readonly usage: Usage;
  readonly cost: CallCost | null;
  /** The price at the time of the answer, if it differs from today's price. */
  readonly price?: ModelPrice | undefined;
}

/** The model name in answers that no model wrote. */
const NOBODY = "<synthetic>";

/** Recognises an answer that no model wrote. Claude Code writes such an answer to report an error. */
export function isMadeUp(entry: JsonObject): boolean {
  return entry["isApiErrorMessage"] === true || messageOf(entry)["model"] === NOBODY;
}

export function answerOf(entries: readonly JsonObject[]): Answer {
  const messages = entries.map(messageOf);
  const model = messages.map(({ model: name }) => name).find((name) => typeof name === "string") ?? "";
  const stops = messages.map(({ stop_reason }) => stop_reason).filter((reason) => typeof reason === "string");
  const usage = usageOf(messages.map(({ usage: counted }) => counted));
  const price = earlierPrice(model, Date.parse(String(entries[0]?.["timestamp"])));
  return {
    model,
    content: messages.flatMap(({ content }) => blocksIn(content)),
    stopReason: stops.at(-1) ?? null,
    usage,
    cost: costOf(model, usage, price),
    price,
  };
}

export function messageOf(entry: JsonObject): JsonObject {
  const { message } = entry;
  return typeof message === "object" && message !== null ? (message as JsonObject) : {};
}

/** Returns the content of a line's message. Text stays text. */
export function contentOf(entry: JsonObject): Content {
  const { content } = messageOf(entry);
  return typeof content === "string" ? content : blocksIn(content);
}

/** Returns only the valid blocks of a message. The log still has the whole line. */
function blocksIn(content: unknown): ContentBlock[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return (content as unknown[]).filter((block): block is ContentBlock => {
    if (typeof block !== "object" || block === null) return false;
    const { type, id, name, tool_use_id: of } = block as JsonObject;
    if (type === "tool_use") return typeof id === "string" && typeof name === "string";
    if (type === "tool_result") return typeof of === "string";
    return typeof type === "string";
  });
}

const COUNTERS = [
  "input_tokens",
  "output_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
] as const satisfies (keyof Usage)[];

/** Returns the largest value of each counter, because early lines of an answer have placeholders. */
function usageOf(given: readonly unknown[]): Usage {
  const usages = given.filter((usage): usage is JsonObject => typeof usage === "object" && usage !== null);
  const largest = (pick: (usage: JsonObject) => unknown): number =>
    Math.max(0, ...usages.map(pick).filter((count): count is number => Number.isSafeInteger(count)));
  const inside = (usage: JsonObject, name: string): JsonObject => (usage[name] ?? {}) as JsonObject;
  const [input, output, written, read] = COUNTERS.map((name) => largest((usage) => usage[name]));
  const lifetimes = {
    ephemeral_5m_input_tokens: largest((usage) => inside(usage, "cache_creation")["ephemeral_5m_input_tokens"]),
    ephemeral_1h_input_tokens: largest((usage) => inside(usage, "cache_creation")["ephemeral_1h_input_tokens"]),
  };
  const searches = largest((usage) => inside(usage, "server_tool_use")["web_search_requests"]);
  const speed = usages.map((usage) => usage["speed"]).findLast((word) => typeof word === "string");
  return {
    input_tokens: input ?? 0,
    output_tokens: output ?? 0,
    cache_creation_input_tokens: written ?? 0,
    cache_read_input_tokens: read ?? 0,
    ...(lifetimes.ephemeral_5m_input_tokens + lifetimes.ephemeral_1h_input_tokens > 0 && { cache_creation: lifetimes }),
    ...(searches > 0 && { server_tool_use: { web_search_requests: searches } }),
    ...(speed !== undefined && { speed }),
  };
}
