import { type ContentBlock, type JsonObject, type Message, blocksOf, isToolUse } from "@skein/protocol";

type Turn = Omit<Message, "id">;

const MISSING = "No result returned for this tool call.";

/**
 * Mends what no model would accept: a call without its result in the next message, a result without its call.
 *
 * Transcripts of our own are whole; imported, forked and compacted ones may not be.
 */
export function repaired(messages: readonly Turn[]): {
  readonly messages: readonly Turn[];
  readonly repairs: readonly JsonObject[];
} {
  const repairs: JsonObject[] = [];
  const mended: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    const calls = index > 0 ? callIds(messages[index - 1]) : [];
    if (message.role !== "user") {
      if (calls.length > 0) mended.push({ role: "user", content: calls.map((id) => missing(id, repairs)) });
      mended.push(message);
      continue;
    }
    mended.push(withResults(message, calls, repairs));
  }
  const open = callIds(messages.at(-1));
  if (open.length > 0) mended.push({ role: "user", content: open.map((id) => missing(id, repairs)) });
  return repairs.length === 0 ? { messages, repairs } : { messages: mended, repairs };
}

/** How far a transcript was found whole. It only grows, so what was whole stays so. */
const wholeUntil = new WeakMap<readonly Turn[], number>();

/** What would have to be mended in a conversation. Looks only at what has been added since it last found nothing. */
export function brokenPairs(messages: readonly Turn[]): readonly JsonObject[] {
  let from = wholeUntil.get(messages) ?? 0;
  // Results are looked at together with the calls before them.
  while (from > 0 && hasResults(messages[from] as Turn)) from -= 1;
  const { repairs } = repaired(from === 0 ? messages : messages.slice(from));
  // The last message may still wait for the results of its calls.
  if (repairs.length === 0) wholeUntil.set(messages, messages.length - 1);
  return repairs;
}

const callsOf = new WeakMap<readonly Turn[], { until: number; readonly ids: Set<string> }>();

/** Every call of a conversation. Looks only at what has been added since. */
export function knownCalls(messages: readonly Turn[]): ReadonlySet<string> {
  const known = callsOf.get(messages) ?? { until: 0, ids: new Set<string>() };
  for (const message of messages.slice(known.until)) for (const id of callIds(message)) known.ids.add(id);
  known.until = messages.length;
  callsOf.set(messages, known);
  return known.ids;
}

/** The message with exactly one result per call before it, results first, in the order of the calls. */
function withResults(message: Turn, calls: readonly string[], repairs: JsonObject[]): Turn {
  const blocks = blocksOf(message.content);
  const results = blocks.filter(({ type }) => type === "tool_result");
  if (results.length === 0 && calls.length === 0) return message;
  const byCall = new Map(results.map((block) => [String(block["tool_use_id"]), block]));
  for (const id of byCall.keys()) if (!calls.includes(id)) repairs.push({ dropped_result: id });
  const ordered = calls.map((id) => byCall.get(id) ?? missing(id, repairs));
  const others = blocks.filter(({ type }) => type !== "tool_result");
  const content = [...ordered, ...others];
  return {
    role: "user",
    content: content.length > 0 ? content : [{ type: "text", text: "(nothing left of this message)" }],
  };
}

export function hasResults(message: Turn): boolean {
  return blocksOf(message.content).some(({ type }) => type === "tool_result");
}

function callIds(message: Turn | undefined): readonly string[] {
  if (message?.role !== "assistant") return [];
  return blocksOf(message.content)
    .filter(isToolUse)
    .map(({ id }) => id);
}

function missing(id: string, repairs: JsonObject[]): ContentBlock {
  repairs.push({ added_result: id });
  return { type: "tool_result", tool_use_id: id, content: MISSING, is_error: true };
}
