/** Converts the lines of an agent other than Claude Code into lines from which Claude Code can continue. */
import { arrayOf, isObject, objectOf, stringOf, type Value } from "../model/value.ts";
import type { Losses } from "./losses.ts";

/** Blocks that a user may send to Claude, and blocks that an answer of Claude may have. */
const userBlocks = new Set(["text", "image", "document", "tool_result"]);
const answerBlocks = new Set(["text", "tool_use"]);
/** Types of lines that are carried over. Claude Code knows these types. */
const carried = new Set(["user", "assistant", "system", "custom-title", "relocated"]);

export function carryLines(
  records: readonly (Value | undefined)[],
  { sessionId, losses }: { readonly sessionId: string; readonly losses: Losses },
): readonly Value[] {
  /** Maps the id of a line that is not carried over to the id of the line that replaces it. */
  const standIn = new Map<string, string | null>();
  const lines: Value[] = [];
  const answered = answeredCalls(records);
  for (const [at, record] of records.entries()) {
    if (!record) {
      losses.add("damaged line", "damaged lines");
      continue;
    }
    const type = String(record["type"]);
    if (!carried.has(type)) {
      if (type === "progress")
        losses.add(
          "token count of a call without a message (its cost is missing in Skein)",
          "token counts of calls without a message (their cost is missing in Skein)",
        );
      else losses.add(`record of type ${type}`, `records of type ${type}`);
      continue;
    }
    // Claude Code reads only the lines after a compaction. If the compaction has no summary, Claude Code gets the whole
    // conversation.
    const isBare = record["subtype"] === "compact_boundary" && records[at + 1]?.["isCompactSummary"] !== true;
    if (isBare) losses.add("compaction with an unreadable summary", "compactions with an unreadable summary");
    const line = isBare ? undefined : carryLine({ ...record, sessionId }, losses);
    const uuid = stringOf(record["uuid"]);
    const parent = stringOf(record["parentUuid"]);
    const before = parent === null ? null : standIn.has(parent) ? (standIn.get(parent) ?? null) : parent;
    if (!line) {
      if (uuid !== null) standIn.set(uuid, before);
      continue;
    }
    const { from: _from, ...rest } = line;
    const placed = uuid === null ? rest : { ...rest, parentUuid: before };
    lines.push(placed);
    const missing = answerFor(placed, answered);
    if (!missing || uuid === null) continue;
    losses.add("call without a recorded result", "calls without a recorded result");
    lines.push(missing);
    standIn.set(uuid, String(missing["uuid"]));
  }
  return lines;
}

function answeredCalls(records: readonly (Value | undefined)[]): ReadonlySet<string> {
  const ids = records.flatMap((record) =>
    blocksOf(record).flatMap((block) => (block["type"] === "tool_result" ? String(block["tool_use_id"]) : [])),
  );
  return new Set(ids);
}

function blocksOf(record: Value | undefined): readonly Value[] {
  return arrayOf(objectOf(record?.["message"])["content"]).filter(isObject);
}

function carryLine(record: Value, losses: Losses): Value | undefined {
  if (record["type"] !== "user" && record["type"] !== "assistant") return record;
  const message = objectOf(record["message"]);
  const { content } = message;
  if (typeof content === "string") return content === "" ? undefined : record;
  const known = record["type"] === "user" ? userBlocks : answerBlocks;
  const blocks = arrayOf(content).flatMap((part) => {
    const block = objectOf(part);
    const type = String(block["type"]);
    if (type === "text" && block["text"] === "") return [];
    if (known.has(type)) return [withSafeId(block)];
    // Thinking is signed, so no other model can read it.
    if (type === "thinking") losses.add("thinking block", "thinking blocks");
    else losses.add(`block of type ${type}`, `blocks of type ${type}`);
    return [];
  });
  if (blocks.length === 0) return undefined;
  const model = stringOf(message["model"]) ?? "";
  // Claude Code must know the model of its lines, so `skein adopt` later replaces an unknown name. This field keeps the
  // real name.
  const other = record["type"] === "assistant" && !model.includes("claude") ? { carriedFrom: model || "unknown" } : {};
  return { ...record, message: { ...message, content: blocks }, ...other };
}

/** Replaces the characters that the Messages API does not accept in the id of a call. */
function safeId(id: unknown): string {
  return String(id).replaceAll(/[^A-Za-z0-9_-]/g, "_");
}

function withSafeId(block: Value): Value {
  if (block["type"] === "tool_use")
    return { ...block, id: safeId(block["id"]), name: safeId(block["name"]).slice(0, 128) };
  if (block["type"] !== "tool_result") return block;
  const { content } = block;
  const parts = Array.isArray(content)
    ? content.map(objectOf).filter(({ type }) => userBlocks.has(String(type)))
    : content;
  return { ...block, tool_use_id: safeId(block["tool_use_id"]), content: parts };
}

/**
 * Makes results for the calls without a recorded result, because every call must have a result.
 */
function answerFor(line: Value, answered: ReadonlySet<string>): Value | undefined {
  if (line["type"] !== "assistant") return undefined;
  const open = blocksOf(line).filter((block) => block["type"] === "tool_use" && !isIn(answered, block["id"]));
  if (open.length === 0) return undefined;
  const content = open.map(({ id }) => ({
    type: "tool_result",
    tool_use_id: id,
    content: "The agent that made this call did not record its result.",
    is_error: true,
  }));
  const uuid = String(line["uuid"]);
  const made = `${uuid.slice(0, 14)}8${uuid.slice(15, 19)}b${uuid.slice(20)}`;
  return { ...line, type: "user", message: { role: "user", content }, uuid: made, parentUuid: uuid };
}

function isIn(answered: ReadonlySet<string>, id: unknown): boolean {
  if (answered.has(String(id))) return true;
  return [...answered].some((known) => safeId(known) === id);
}
