/**
 * Turns lines into messages. The lines of one model's answer become one message. Every other line becomes a separate
 * message.
 */
import { humanPrompt } from "../format/human-prompt.ts";
import type { ParsedLine } from "../../../scan/parse-line.ts";
import type {
  AssistantContent,
  AssistantMessage,
  Message,
  MessageBase,
  RawLine,
  TokenUsage,
  ToolResult,
  UserContent,
} from "../../../model/types.ts";
import { arrayOf, isObject, numberOf, objectOf, stringOf, type Value } from "../../../model/value.ts";

/** Makes messages from the lines of one file. */
export interface MessageBuilder {
  /** Returns the message that begins with this line, or undefined if `add` already returned the line's answer. */
  add(line: ParsedLine): Message | undefined;
}

type Open<T> = { -readonly [K in keyof T]: T[K] };
type OpenAnswer = Open<AssistantMessage> & {
  content: AssistantContent[];
  lineUuids: string[];
  moreLines?: RawLine[];
};

/** Creates a builder. Messages before the first time in the file get `fallbackTime`. */
export function createMessageBuilder(fallbackTime: Date): MessageBuilder {
  const answers = new Map<string, OpenAnswer>();
  let lastTime: Date | undefined;
  return {
    add(line) {
      const own = timeOf(line.value);
      const base = baseOf(line, own ?? lastTime ?? fallbackTime, own === undefined);
      if (own) lastTime = own;
      const { type } = line.value;
      if (type === "user") return userMessage(line.value, base);
      if (type === "assistant") return assistantMessage(line, base, answers);
      const content = contentOfOther(line.value);
      return { ...base, type: stringOf(type) ?? "unknown", content, humanPrompt: humanPrompt(line.value) ?? null };
    },
  };
}

function timeOf(value: Value): Date | undefined {
  const { timestamp } = value;
  if (typeof timestamp !== "string" && typeof timestamp !== "number") return undefined;
  const time = new Date(timestamp);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

function usageOf(value: unknown): TokenUsage {
  const usage = objectOf(value);
  return {
    inputTokens: numberOf(usage["input_tokens"]) ?? 0,
    outputTokens: numberOf(usage["output_tokens"]) ?? 0,
    cacheCreationInputTokens: numberOf(usage["cache_creation_input_tokens"]) ?? 0,
    cacheReadInputTokens: numberOf(usage["cache_read_input_tokens"]) ?? 0,
  };
}

/** Returns the text of a tool result. If a part is not text, its name in brackets replaces it. */
export function resultText(content: unknown): string {
  if (typeof content === "string") return content;
  return arrayOf(content)
    .map((part) => {
      if (typeof part === "string") return part;
      const block = objectOf(part);
      return stringOf(block["text"]) ?? `[${stringOf(block["tool_name"]) ?? stringOf(block["type"]) ?? "content"}]`;
    })
    .join("\n");
}

function baseOf(line: ParsedLine, timestamp: Date, timestampIsInferred: boolean): MessageBase {
  const { value } = line;
  return {
    uuid: stringOf(value["uuid"]) ?? `line:${line.line}`,
    parentUuid: stringOf(value["parentUuid"]),
    timestamp,
    timestampIsInferred,
    isSidechain: value["isSidechain"] === true,
    isActive: true,
    isCompacted: false,
    lineNumber: line.line,
    lineCount: 1,
    raw: value,
  };
}

function userMessage(value: Value, base: MessageBase): Message {
  const { content } = objectOf(value["message"]);
  return {
    ...base,
    type: "user",
    role: "user",
    content: typeof content === "string" ? content : arrayOf(content).map(userContent),
    cwd: stringOf(value["cwd"]) ?? "",
    gitBranch: stringOf(value["gitBranch"]) || null,
    humanPrompt: humanPrompt(value) ?? null,
  };
}

function userContent(block: unknown): UserContent {
  if (typeof block === "string") return { type: "text", text: block };
  const value = objectOf(block);
  if (value["type"] === "text" && typeof value["text"] === "string") return { type: "text", text: value["text"] };
  if (value["type"] !== "tool_result") return value as UserContent;
  const { content } = value;
  const result: ToolResult = {
    type: "tool_result",
    toolUseId: stringOf(value["tool_use_id"]) ?? "",
    content: resultText(content),
    isError: value["is_error"] === true,
  };
  return typeof content === "string" || content === undefined ? result : { ...result, parts: arrayOf(content) };
}

function assistantMessage(line: ParsedLine, base: MessageBase, answers: Map<string, OpenAnswer>): Message | undefined {
  const message = objectOf(line.value["message"]);
  const id = stringOf(message["id"]);
  const { content } = message;
  const blocks =
    typeof content === "string" ? [{ type: "text", text: content }] : arrayOf(content).map(assistantContent);
  const open = id === null ? undefined : answers.get(`${id}${base.isSidechain ? " side" : ""}`);
  if (open) {
    open.content.push(...blocks);
    open.stopReason = stringOf(message["stop_reason"]) ?? open.stopReason;
    open.usage = largest(open.usage, usageOf(message["usage"]));
    open.lineUuids.push(base.uuid);
    (open.moreLines ??= []).push({ lineNumber: line.line, raw: line.value });
    open.lineCount += 1;
    return undefined;
  }
  const answer: OpenAnswer = {
    ...base,
    type: "assistant",
    role: "assistant",
    id,
    lineUuids: [base.uuid],
    requestId: stringOf(line.value["requestId"]),
    model: stringOf(message["model"]) ?? "",
    content: blocks,
    stopReason: stringOf(message["stop_reason"]),
    usage: usageOf(message["usage"]),
  };
  if (id !== null) answers.set(`${id}${base.isSidechain ? " side" : ""}`, answer);
  return answer;
}

function assistantContent(block: unknown): AssistantContent {
  const value = objectOf(block);
  const { type } = value;
  if (type === "text" && typeof value["text"] === "string") return { type, text: value["text"] };
  if (type === "thinking" && typeof value["thinking"] === "string") return { type, thinking: value["thinking"] };
  if (type === "tool_use" && typeof value["id"] === "string" && typeof value["name"] === "string") {
    return { type, id: value["id"], name: value["name"], input: isObject(value["input"]) ? value["input"] : {} };
  }
  return value as AssistantContent;
}

/** Early lines of an answer have placeholders, so the largest value of each counter is used. */
function largest(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    inputTokens: Math.max(a.inputTokens, b.inputTokens),
    outputTokens: Math.max(a.outputTokens, b.outputTokens),
    cacheCreationInputTokens: Math.max(a.cacheCreationInputTokens, b.cacheCreationInputTokens),
    cacheReadInputTokens: Math.max(a.cacheReadInputTokens, b.cacheReadInputTokens),
  };
}

const otherContent = [
  "content",
  "summary",
  "snapshot",
  "attachment",
  "data",
  "backup",
  "customTitle",
  "aiTitle",
  "lastPrompt",
];

function contentOfOther(value: Value): unknown {
  for (const field of otherContent) if (value[field] !== undefined) return value[field];
  return value;
}
