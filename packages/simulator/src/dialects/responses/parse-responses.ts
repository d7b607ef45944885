/**
 * Translates a request of the Responses API into a request of the Messages API, or rejects it with a 400 and OpenAI's
 * message.
 */
import { checkPairs } from "../../check-pairs.ts";
import { isObject, type Block, type JsonObject, type MessagesRequest, type Tool } from "../../wire.ts";
import { refused } from "../../openai/errors.ts";
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
import { parseItems } from "./parse-items.ts";

const KNOWN = new Set(
  `background context_management conversation include input instructions max_output_tokens max_tool_calls metadata model
  moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention
  reasoning safety_identifier service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p
  truncation user`.split(/\s+/),
);
const INCLUDES = [
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "message.input_image.image_url",
  "computer_call_output.output.image_url",
  "code_interpreter_call.outputs",
  "reasoning.encrypted_content",
  "message.output_text.logprobs",
];

export function parseResponses(body: unknown): MessagesRequest {
  const asked = objectAt(body, "body");
  checkKnown(asked, KNOWN);
  checkSampling(asked);
  const model = stringAt(asked.model, "model");
  checkMemory(asked);
  const { system, messages } = parseItems(asked.input);
  const tools = parseTools(asked.tools);
  checkPairs(messages);
  const instructions: readonly Block[] =
    typeof asked.instructions === "string" && asked.instructions !== ""
      ? [{ type: "text", text: asked.instructions }]
      : [];
  const allOfSystem = [...instructions, ...system];
  return {
    model,
    messages,
    system: allOfSystem.length > 0 ? allOfSystem : "",
    tools,
    max_tokens: countAt(asked.max_output_tokens, "max_output_tokens") ?? LONGEST_ANSWER,
    stream: booleanAt(asked.stream, "stream"),
    toolChoice: toolChoice(asked.tool_choice, tools, ({ name }) => name),
    thinking: parseReasoning(asked.reasoning),
    stopSequences: [],
    container: null,
    outputSchema: parseFormat(asked.text),
    cacheControl: AUTOMATIC_CACHE,
  };
}

/**
 * Rejects requests that need a stored conversation. The simulator stores no conversations, like the API with `store:
 * false`.
 */
function checkMemory({ previous_response_id: previous, conversation, include }: JsonObject): void {
  if (typeof previous === "string") {
    const message = `Previous response with id '${previous}' not found.`;
    throw refused(message, "previous_response_id", "previous_response_not_found");
  }
  if (conversation !== undefined && conversation !== null)
    throw refused("The simulator stores no conversations: send every item with `store: false`.", "conversation");
  if (include === undefined || include === null) return;
  for (const [index, each] of listAt(include, "include").entries()) oneOfAt(each, `include[${index}]`, INCLUDES);
}

function parseTools(value: unknown): readonly Tool[] {
  if (value === undefined || value === null) return [];
  return listAt(value, "tools").map((each, index) => {
    const tool = objectAt(each, `tools[${index}]`);
    const type = stringAt(tool.type, `tools[${index}].type`);
    return type === "function" ? functionTool(tool, `tools[${index}]`) : { name: type, type };
  });
}

function parseReasoning(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  const { effort, summary } = objectAt(value, "reasoning");
  if (summary !== undefined && summary !== null)
    oneOfAt(summary, "reasoning.summary", ["auto", "concise", "detailed", "none"]);
  if (effort === undefined || effort === null) return true;
  return oneOfAt(effort, "reasoning.effort", EFFORTS) !== "none";
}

function parseFormat(text: unknown): JsonObject | null {
  if (!isObject(text) || text.format === undefined) return null;
  const format = objectAt(text.format, "text.format");
  const type = oneOfAt(format.type, "text.format.type", ["json_object", "json_schema", "text"]);
  if (type === "text") return null;
  return type === "json_object" ? { type: "object" } : outputSchema(format, "text.format");
}
