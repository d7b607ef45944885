import { invalid } from "../../api-error.ts";
import { isOwnSignatureBroken } from "../../signature.ts";
import { isObject, type Block, type Message } from "../../wire.ts";

const ROLES = new Set<unknown>(["user", "assistant", "system"]);

export function parseMessages(value: unknown): readonly Message[] {
  if (value === undefined) throw invalid("messages", "Field required");
  if (!Array.isArray(value)) throw invalid("messages", "Input should be a valid list");
  if (value.length === 0) throw invalid("messages", "at least one message is required");

  const messages = (value as unknown[]).map((message, index) =>
    parseMessage(message, `messages.${index}`, index === value.length - 1),
  );
  // Entries of the role `system` may be anywhere. The first entry of another role must be a user message.
  const first = messages.find((message) => message.role !== "system");
  if (first?.role === "assistant") throw invalid("messages", 'first message must use the "user" role');
  checkEnd(messages.at(-1));
  return messages;
}

/** Checks the content blocks of known types. Accepts blocks of unknown types. */
export function parseBlocks(value: readonly unknown[], where: string): readonly Block[] {
  for (const [index, block] of value.entries()) checkBlock(block, `${where}.${index}`);
  return value as Block[];
}

function parseMessage(value: unknown, where: string, isLast: boolean): Message {
  if (!isObject(value)) throw invalid(where, "Input should be a valid dictionary");
  const { role, content } = value;
  if (role === undefined) throw invalid(`${where}.role`, "Field required");
  if (!ROLES.has(role)) throw invalid(`${where}.role`, "Input should be 'user' or 'assistant'");
  if (content === undefined) throw invalid(`${where}.content`, "Field required");
  if (typeof content !== "string" && !Array.isArray(content)) {
    throw invalid(`${where}.content`, "Input should be a valid string or list");
  }
  if (content.length === 0 && !(isLast && role === "assistant")) {
    throw invalid(where, "all messages must have non-empty content except for the optional final assistant message");
  }
  if (typeof content !== "string") parseBlocks(content, `${where}.content`);
  checkBlank(content);
  return value as unknown as Message;
}

/** Rejects content whose only text is blank. Blank text beside other text is accepted. */
function checkBlank(content: string | unknown[]): void {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : (content as readonly Block[]);
  const texts = blocks.filter(({ type }) => type === "text");
  if (texts.length === 0 || texts.some(({ text }) => String(text).trim() !== "")) return;
  throw invalid("messages", "text content blocks must contain non-whitespace text");
}

function checkBlock(block: unknown, where: string): void {
  if (!isObject(block)) throw invalid(where, "Input should be a valid dictionary");
  if (typeof block.type !== "string") throw invalid(`${where}.type`, "Field required");
  const check = CHECKS[block.type];
  if (check) check(block as Block, `${where}.${block.type}`);
  if (isObject(block.cache_control)) checkCacheControl(block as Block, `${where}.${block.type}`);
}

const CHECKS: Readonly<Record<string, (block: Block, where: string) => void>> = {
  text(block, where) {
    if (typeof block.text !== "string") throw invalid(`${where}.text`, "Field required");
    if (block.text === "")
      throw invalid(where.startsWith("system") ? "system" : "messages", "text content blocks must be non-empty");
  },
  thinking(block, where) {
    if (typeof block.thinking !== "string") throw invalid(`${where}.thinking`, "Field required");
    if (typeof block.signature !== "string") throw invalid(`${where}.signature`, "Field required");
    if (isOwnSignatureBroken(block.thinking, block.signature)) {
      throw invalid(where.replace(/\.thinking$/, ""), "Invalid `signature` in `thinking` block");
    }
  },
  tool_use(block, where) {
    checkId(block.id, `${where}.id`, /^[a-zA-Z0-9_-]+$/);
    if (typeof block.name !== "string") throw invalid(`${where}.name`, "Field required");
    if (block.name.length < 1) throw invalid(`${where}.name`, "String should have at least 1 character");
    if (block.name.length > 200) throw invalid(`${where}.name`, "String should have at most 200 characters");
    if (block.input === undefined) throw invalid(`${where}.input`, "Field required");
    if (!isObject(block.input)) throw invalid(`${where}.input`, "Input should be a valid dictionary");
  },
  server_tool_use(block, where) {
    checkId(block.id, `${where}.id`, /^srvtoolu_[a-zA-Z0-9_]+$/);
  },
  tool_result(block, where) {
    checkId(block.tool_use_id, `${where}.tool_use_id`, /^[a-zA-Z0-9_-]+$/);
    if (Array.isArray(block.content)) parseBlocks(block.content as unknown[], `${where}.content`);
  },
};

function checkId(value: unknown, where: string, pattern: RegExp): void {
  if (typeof value !== "string") throw invalid(where, "Field required");
  if (!pattern.test(value)) throw invalid(where, `String should match pattern '${pattern.source}'`);
}

function checkCacheControl(block: Block, where: string): void {
  const { type, ttl } = block.cache_control as { type?: unknown; ttl?: unknown };
  if (type !== "ephemeral") throw invalid(`${where}.cache_control.type`, "Input should be 'ephemeral'");
  if (ttl !== undefined && ttl !== "5m" && ttl !== "1h") {
    throw invalid(`${where}.cache_control.ephemeral.ttl`, "Input should be '5m' or '1h'");
  }
  if (block.type === "thinking") throw invalid(`${where}.cache_control`, "Extra inputs are not permitted");
}

function checkEnd(last: Message | undefined): void {
  if (last?.role !== "assistant") return;
  const end = typeof last.content === "string" ? last.content : last.content.at(-1)?.text;
  if (typeof end !== "string" || end === end.trimEnd()) return;
  throw invalid("messages", "final assistant content cannot end with trailing whitespace");
}
