import type { PlacedMessage, ThreadMarks } from "@skein/history";
import type { HistoryMessage } from "@skein/protocol";

/** The most characters of a text in a page. A request for a single line returns the full text. */
const LONGEST_TEXT = 100_000;
/** Pictures larger than this are left out of pages. */
const LONGEST_PICTURE = 3_000_000;

/** Converts a message to the format of the HTTP response. */
export function historyMessage(message: PlacedMessage, marks: ThreadMarks | undefined): HistoryMessage {
  const cut = { is: false };
  const { raw } = message;
  const usage = message.role === "assistant" ? message.usage : undefined;
  return {
    id: message.uuid,
    parent_id: message.parentUuid,
    message_id: message.role === "assistant" ? message.id : null,
    type: message.type,
    subtype: typeof raw["subtype"] === "string" ? raw["subtype"] : null,
    role: message.role ?? null,
    prompt: ("humanPrompt" in message && message.humanPrompt?.slice(0, LONGEST_TEXT)) || null,
    content: blocksOf(message).map((block) => shortened(block, cut) as Record<string, unknown>),
    is_cut: cut.is,
    created_at: message.timestamp.toISOString(),
    model: message.role === "assistant" ? message.model : null,
    stop_reason: message.role === "assistant" ? message.stopReason : null,
    usage: usage
      ? {
          input_tokens: usage.inputTokens,
          output_tokens: usage.outputTokens,
          cache_creation_input_tokens: usage.cacheCreationInputTokens,
          cache_read_input_tokens: usage.cacheReadInputTokens,
        }
      : null,
    is_sidechain: message.isSidechain,
    is_rewound: marks?.rewound.has(message.uuid) ?? false,
    is_compacted: marks?.compacted.has(message.uuid) ?? false,
    agent_id: agentOf(raw),
    offset: message.offset,
    bytes: message.length,
  };
}

/** Returns the blocks of a message in the format of the Messages API. */
function blocksOf(message: PlacedMessage): readonly unknown[] {
  if (message.role === undefined) {
    const { content } = message;
    return typeof content === "string" ? [{ type: "text", text: content }] : [];
  }
  // An answer may have several lines in the file. `content` has the blocks of all these lines.
  if (message.role === "assistant") return message.content;
  const { content } = (message.raw["message"] ?? {}) as { content?: unknown };
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter((block) => typeof block === "object" && block !== null) : [];
}

function agentOf({ toolUseResult }: Readonly<Record<string, unknown>>): string | null {
  const { agentId } = (toolUseResult ?? {}) as { agentId?: unknown };
  return typeof agentId === "string" && /^[A-Za-z0-9_-]{1,100}$/.test(agentId) ? agentId : null;
}

/** Returns a copy with shortened texts and without large pictures. Sets `cut.is` if the copy differs from `value`. */
function shortened(value: unknown, cut: { is: boolean }): unknown {
  if (typeof value === "string") {
    if (value.length <= LONGEST_TEXT) return value;
    cut.is = true;
    return value.slice(0, LONGEST_TEXT).toWellFormed();
  }
  if (Array.isArray(value)) return value.map((one) => shortened(one, cut));
  if (typeof value !== "object" || value === null) return value;
  const source = value as { type?: unknown; data?: unknown };
  if (source.type === "base64" && typeof source.data === "string") {
    if (source.data.length <= LONGEST_PICTURE) return value;
    cut.is = true;
    return { ...value, data: "" };
  }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shortened(one, cut)]));
}
