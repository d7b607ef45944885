import { type ContentBlock, type JsonObject, type Message, blocksOf, isToolUse } from "@skein/protocol";

type Turn = Omit<Message, "id">;

const MISSING = "No result returned for this tool call.";

/**
 * Repairs a conversation that the API would reject, because a call has no result in the next message, a result has no
 * call, or a call of a server tool is unfinished at the next prompt. Only imported, forked and compacted transcripts
 * may need repairs.
 */
export function repairPairs(all: readonly Turn[]): {
  readonly messages: readonly Turn[];
  readonly repairs: readonly JsonObject[];
} {
  const unfinished = unfinishedCalls(all);
  const messages = unfinished.size === 0 ? all : all.map((message) => without(message, unfinished));
  const repairs: JsonObject[] = [...unfinished].map((id) => ({ dropped_call: id }));
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

/**
 * How many messages at the beginning of a transcript need no repair. Transcripts only grow, so the number stays valid.
 */
const wholeUntil = new WeakMap<readonly Turn[], number>();

/**
 * Finds the repairs that a conversation needs. If the last check found none, only the messages after it are checked.
 */
export function brokenPairs(messages: readonly Turn[]): readonly JsonObject[] {
  let from = wholeUntil.get(messages) ?? 0;
  // The check goes back to a message that begins a new exchange: results are checked with their calls, and consecutive
  // assistant messages as a single message.
  while (from > 0 && (hasResults(messages[from] as Turn) || messages[from - 1]?.role === "assistant")) from -= 1;
  const { repairs } = repairPairs(from === 0 ? messages : messages.slice(from));
  // The calls of the last message may not have their results yet, so that message is checked again next time.
  if (repairs.length === 0) wholeUntil.set(messages, messages.length - 1);
  return repairs;
}

const callsOf = new WeakMap<readonly Turn[], { until: number; readonly ids: Set<string> }>();

/** Returns the ids of all tool calls of a conversation. Messages that were read before are not read again. */
export function knownCalls(messages: readonly Turn[]): ReadonlySet<string> {
  const known = callsOf.get(messages) ?? { until: 0, ids: new Set<string>() };
  for (const message of messages.slice(known.until)) for (const id of callIds(message)) known.ids.add(id);
  known.until = messages.length;
  callsOf.set(messages, known);
  return known.ids;
}

/** Calls of server tools (search, code execution) that were not finished before the next prompt. */
function unfinishedCalls(messages: readonly Turn[]): ReadonlySet<string> {
  const unfinished = new Set<string>();
  const open = new Set<string>();
  for (const message of messages) {
    if (message.role === "user") {
      // If the message has only results of other calls, the result of the server tool may still come.
      if (!hasResults(message)) for (const id of open) unfinished.add(id);
      if (!hasResults(message)) open.clear();
      continue;
    }
    for (const block of blocksOf(message.content)) {
      if (block.type === "server_tool_use") open.add(String(block["id"]));
      else if (block.type.endsWith("_tool_result")) open.delete(String(block["tool_use_id"]));
    }
  }
  return unfinished;
}

function without(message: Turn, calls: ReadonlySet<string>): Turn {
  if (message.role === "user" || typeof message.content === "string") return message;
  const content = message.content.filter(({ type, id }) => type !== "server_tool_use" || !calls.has(String(id)));
  return content.length === message.content.length ? message : { ...message, content: orNothing(content) };
}

/** Returns the content, or a note if no content is left, because the API rejects empty messages. */
function orNothing(content: ContentBlock[]): ContentBlock[] {
  return content.length > 0 ? content : [{ type: "text", text: "(nothing left of this message)" }];
}

/** Gives a message exactly one result for each of these calls. The results come first, in the order of the calls. */
function withResults(message: Turn, calls: readonly string[], repairs: JsonObject[]): Turn {
  const blocks = blocksOf(message.content);
  const results = blocks.filter(({ type }) => type === "tool_result");
  if (results.length === 0 && calls.length === 0) return message;
  const byCall = new Map(results.map((block) => [String(block["tool_use_id"]), block]));
  for (const id of byCall.keys()) if (!calls.includes(id)) repairs.push({ dropped_result: id });
  const ordered = calls.map((id) => byCall.get(id) ?? missing(id, repairs));
  const others = blocks.filter(({ type }) => type !== "tool_result");
  return { role: "user", content: orNothing([...ordered, ...others]) };
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
