/** Parses an unknown body into a request, or throws a 400 with the message that the API would use. */
import { invalid } from "../../api-error.ts";
import { checkPairs } from "../../check-pairs.ts";
import { checkVersion } from "./check-version.ts";
import { parseMessages, parseBlocks } from "./parse-messages.ts";
import { parseToolChoice, parseTools } from "./parse-tools.ts";
import { isObject, type CacheControl, type JsonObject, type MessagesRequest } from "../../wire.ts";

const MAXIMUM_BREAKPOINTS = 4;
const THINKING_TYPES = ["adaptive", "between_tools", "disabled", "enabled"];

export function parseRequest(body: unknown, version: string): MessagesRequest {
  if (!isObject(body)) throw invalid("", "Request body must be a JSON object");
  if (body.max_tokens === undefined) throw invalid("max_tokens", "Field required");
  if (!isInteger(body.max_tokens)) throw invalid("max_tokens", "Input should be a valid integer");
  if (body.max_tokens < 1) throw invalid("max_tokens", "Input should be greater than or equal to 1");
  const request = { ...parsePrompt(body, version), max_tokens: body.max_tokens, stream: parseStream(body.stream) };
  checkThinking(body, request);
  return request;
}

/** Parses a request except `max_tokens` and `stream`. The body of `count_tokens` does not have these fields. */
export function parsePrompt(body: unknown, version: string): Omit<MessagesRequest, "max_tokens" | "stream"> {
  if (!isObject(body)) throw invalid("", "Request body must be a JSON object");
  if (body.model === undefined) throw invalid("model", "Field required");
  if (typeof body.model !== "string") throw invalid("model", "Input should be a valid string");
  if (body.model === "") throw invalid("model", "String should have at least 1 character");

  const messages = parseMessages(body.messages);
  const tools = parseTools(body.tools);
  const request = {
    model: body.model,
    messages,
    tools,
    system: parseSystem(body.system),
    toolChoice: parseToolChoice(body.tool_choice, tools),
    thinking: isObject(body.thinking) && body.thinking.type !== "disabled",
    stopSequences: parseStopSequences(body.stop_sequences),
    container: parseContainer(body.container),
    outputSchema: parseOutputSchema(body),
    cacheControl: isObject(body.cache_control) ? (body.cache_control as unknown as CacheControl) : null,
  };
  checkBreakpoints(request);
  checkVersion(version, body, messages);
  checkPairs(messages);
  return request;
}

function isInteger(value: unknown): value is number {
  return Number.isInteger(value);
}

function parseStream(value: unknown): boolean {
  if (value === undefined || typeof value === "boolean") return value ?? false;
  throw invalid("stream", "Input should be a valid boolean");
}

function parseSystem(value: unknown): MessagesRequest["system"] {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) throw invalid("system", "Input should be a valid string or list");
  const blocks = parseBlocks(value, "system");
  const other = blocks.findIndex((block) => block.type !== "text");
  if (other >= 0) throw invalid(`system.${other}.type`, "Input should be 'text'");
  return blocks;
}

function parseStopSequences(value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalid("stop_sequences", "Input should be a valid list");
  const sequences = value as unknown[];
  if (sequences.some((each) => typeof each !== "string" || each.trim() === "")) {
    throw invalid("stop_sequences", "each stop sequence must contain non-whitespace");
  }
  return sequences as string[];
}

function parseContainer(value: unknown): MessagesRequest["container"] {
  if (value === undefined || value === null) return null;
  if (typeof value === "string") return { id: value, skills: [] };
  if (!isObject(value)) throw invalid("container", "Input should be a valid string or object");
  return {
    id: typeof value.id === "string" ? value.id : null,
    skills: Array.isArray(value.skills) ? (value.skills as JsonObject[]) : [],
  };
}

function parseOutputSchema(body: JsonObject): JsonObject | null {
  // `output_format` is the field's name in the beta.
  const format = isObject(body.output_config) ? body.output_config.format : body.output_format;
  if (!isObject(format) || format.type !== "json_schema" || !isObject(format.schema)) return null;
  return format.schema;
}

function checkBreakpoints(request: Pick<MessagesRequest, "system" | "tools" | "messages" | "cacheControl">): void {
  let found = request.cacheControl ? 1 : 0;
  for (const tool of request.tools) if (tool.cache_control) found += 1;
  for (const { content } of [{ content: request.system }, ...request.messages]) {
    if (typeof content === "string") continue;
    for (const block of content) if (block.cache_control) found += 1;
  }
  if (found <= MAXIMUM_BREAKPOINTS) return;
  throw invalid("", `A maximum of 4 blocks with cache_control may be provided. Found ${found}.`);
}

function checkThinking(body: JsonObject, request: MessagesRequest): void {
  const thinking = body.thinking;
  if (thinking === undefined || thinking === null) return;
  if (!isObject(thinking)) throw invalid("thinking", "Input should be a valid dictionary");
  if (typeof thinking.type !== "string" || !THINKING_TYPES.includes(thinking.type)) {
    const tags = THINKING_TYPES.map((type) => `'${type}'`).join(", ");
    throw invalid(
      "thinking",
      `Input tag '${String(thinking.type)}' found using 'type' does not match any of the expected tags: ${tags}`,
    );
  }
  const forced = request.toolChoice.type === "any" || request.toolChoice.type === "tool";
  if (request.thinking && forced) {
    throw invalid("", "Thinking may not be enabled when tool_choice forces tool use.");
  }
  if (thinking.type !== "enabled") return;
  const budget = thinking.budget_tokens;
  if (budget === undefined) throw invalid("thinking.enabled.budget_tokens", "Field required");
  if (!isInteger(budget)) throw invalid("thinking.enabled.budget_tokens", "Input should be a valid integer");
  if (budget < 1024) {
    throw invalid("thinking.enabled.budget_tokens", "Input should be greater than or equal to 1024");
  }
  if (budget >= request.max_tokens) {
    throw invalid("", "`max_tokens` must be greater than `thinking.budget_tokens`.");
  }
}
