/**
 * Translates a request of Chat Completions into a request of the Messages API, or rejects it with a 400 and OpenAI's
 * message.
 */
import { checkPairs } from "../../check-pairs.ts";
import { isObject, type JsonObject, type MessagesRequest, type Tool } from "../../wire.ts";
import { refused, wrongType, wrongValue } from "../../openai/errors.ts";
import {
  AUTOMATIC_CACHE,
  EFFORTS,
  LONGEST_ANSWER,
  booleanAt,
  checkKnown,
  checkSampling,
  countAt,
  functionTool,
  listAt,
  objectAt,
  oneOfAt,
  outputSchema,
  stringAt,
  toolChoice,
} from "../../openai/fields.ts";
import { parseChatMessages } from "./parse-chat-messages.ts";

const KNOWN = new Set(
  `audio enable_thinking chat_template_kwargs frequency_penalty function_call functions logit_bias logprobs max_completion_tokens
  max_tokens messages metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key
  prompt_cache_options prompt_cache_retention provider reasoning reasoning_effort response_format safety_identifier seed
  service_tier stop store stream stream_options temperature thinking tool_choice tools top_logprobs top_p user verbosity
  web_search_options`.split(/\s+/),
);

export function parseChat(body: unknown): MessagesRequest {
  const asked = objectAt(body, "body");
  checkKnown(asked, KNOWN);
  checkSampling(asked);
  const model = stringAt(asked.model, "model");
  if (model === "") throw refused("you must provide a model parameter");
  const { system, messages } = parseChatMessages(listAt(asked.messages, "messages"));
  const tools = parseTools(asked.tools);
  checkPairs(messages);
  return {
    model,
    messages,
    system,
    tools,
    max_tokens: parseLimit(asked),
    stream: parseStream(asked),
    toolChoice: toolChoice(asked.tool_choice, tools, ({ function: named }) =>
      isObject(named) ? named.name : undefined,
    ),
    thinking: parseThinking(asked),
    stopSequences: parseStop(asked.stop),
    container: null,
    outputSchema: parseFormat(asked.response_format),
    cacheControl: AUTOMATIC_CACHE,
  };
}

function parseTools(value: unknown): readonly Tool[] {
  if (value === undefined || value === null) return [];
  return listAt(value, "tools").map((each, index) => {
    const tool = objectAt(each, `tools[${index}]`);
    oneOfAt(tool.type, `tools[${index}].type`, ["function"]);
    return functionTool(objectAt(tool.function, `tools[${index}].function`), `tools[${index}].function`);
  });
}

function parseLimit(asked: JsonObject): number {
  const old = countAt(asked.max_tokens, "max_tokens");
  const limit = countAt(asked.max_completion_tokens, "max_completion_tokens");
  if (old !== undefined && limit !== undefined) {
    throw refused(
      "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
      "max_tokens",
      "invalid_parameter_combination",
    );
  }
  if (asked.n !== undefined && asked.n !== null && asked.n !== 1) throw wrongValue("n", asked.n, ["1"]);
  return limit ?? old ?? LONGEST_ANSWER;
}

function parseStream(asked: JsonObject): boolean {
  const stream = booleanAt(asked.stream, "stream");
  if (asked.stream_options === undefined || asked.stream_options === null) return stream;
  objectAt(asked.stream_options, "stream_options");
  if (stream) return true;
  throw refused("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options");
}

/** The reasoning effort, in OpenAI's field or in the fields of other servers. */
function parseThinking({ reasoning_effort: effort, reasoning, thinking, enable_thinking }: JsonObject): boolean {
  if (effort !== undefined && effort !== null) return oneOfAt(effort, "reasoning_effort", EFFORTS) !== "none";
  if (isObject(reasoning)) return reasoning.enabled !== false && reasoning.effort !== "none";
  if (isObject(thinking)) return thinking.type !== "disabled";
  return booleanAt(enable_thinking, "enable_thinking");
}

function parseStop(value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  const stops = typeof value === "string" ? [value] : value;
  if (!Array.isArray(stops) || stops.length > 4 || stops.some((each) => typeof each !== "string"))
    throw wrongType("stop", "a string or an array of at most 4 strings", value);
  return stops as string[];
}

function parseFormat(value: unknown): JsonObject | null {
  if (value === undefined || value === null) return null;
  const format = objectAt(value, "response_format");
  const type = oneOfAt(format.type, "response_format.type", ["json_object", "json_schema", "text"]);
  if (type === "text") return null;
  if (type === "json_object") return { type: "object" };
  return outputSchema(objectAt(format.json_schema, "response_format.json_schema"), "response_format");
}
