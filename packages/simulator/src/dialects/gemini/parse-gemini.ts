/**
 * Translates a request of the Gemini API into a request of the Messages API, or rejects it with a 400 and Google's
 * message.
 */
import { checkPairs } from "../../check-pairs.ts";
import { isObject, type JsonObject, type MessagesRequest, type Tool } from "../../wire.ts";
import type { RequestHead } from "../dialect.ts";
import { AUTOMATIC_CACHE } from "../../openai/fields.ts";
import { refused } from "./errors.ts";
import { parseContents, textParts } from "./parse-contents.ts";

const KNOWN = new Set(
  `contents systemInstruction system_instruction tools toolConfig tool_config safetySettings generationConfig cachedContent
  serviceTier store labels`.split(/\s+/),
);
const CONFIG = new Set(
  `stopSequences responseMimeType responseSchema responseJsonSchema _responseJsonSchema responseModalities candidateCount maxOutputTokens temperature
  topP topK seed presencePenalty frequencyPenalty responseLogprobs logprobs enableEnhancedCivicAnswers speechConfig
  thinkingConfig imageConfig mediaResolution`.split(/\s+/),
);
const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/;
const LONGEST_ANSWER = 65_536;

export function parseGemini(body: unknown, { path, query }: RequestHead): MessagesRequest {
  if (!isObject(body)) throw refused("Invalid JSON payload received. Expected an object.");
  checkKnown(body, KNOWN, "");
  const stream = path.endsWith(":streamGenerateContent");
  if (stream && query.get("alt") !== "sse") throw refused("The simulator streams with `alt=sse` only.");
  const config = objectOr(body.generationConfig, "generation_config");
  checkKnown(config, CONFIG, " at 'generation_config'");
  checkSampling(config);
  const messages = parseContents(body.contents);
  const tools = parseTools(body.tools);
  const instruction = body.systemInstruction ?? body.system_instruction;
  checkPairs(messages);
  return {
    model: decodeURIComponent(path.slice("/v1beta/models/".length, path.lastIndexOf(":"))),
    messages,
    system: instruction === undefined ? "" : textParts(instruction),
    tools,
    stream,
    max_tokens: parseLimit(config.maxOutputTokens),
    toolChoice: parseChoice(objectOr(body.toolConfig ?? body.tool_config, "tool_config"), tools),
    thinking: wantsThoughts(objectOr(config.thinkingConfig, "thinking_config")),
    stopSequences: Array.isArray(config.stopSequences) ? (config.stopSequences as string[]) : [],
    container: null,
    outputSchema: parseSchema(config),
    cacheControl: AUTOMATIC_CACHE,
  };
}

function checkKnown(body: JsonObject, known: ReadonlySet<string>, where: string): void {
  for (const name in body) {
    if (!known.has(name))
      throw refused(`Invalid JSON payload received. Unknown name "${name}"${where}: Cannot find field.`);
  }
}

function checkSampling({ temperature, topP, candidateCount }: JsonObject): void {
  const wrong = (name: string, what: string) => refused(`* GenerateContentRequest.generation_config.${name}: ${what}`);
  const isIn = (value: unknown, most: number) =>
    value === undefined || value === null || (typeof value === "number" && value >= 0 && value <= most);
  if (!isIn(temperature, 2)) throw wrong("temperature", "temperature must be in the range [0.0, 2.0].");
  if (!isIn(topP, 1)) throw wrong("top_p", "top_p must be in the range [0.0, 1.0].");
  if ((candidateCount ?? 1) !== 1) throw refused("Multiple candidates is not enabled for this model");
}

/**
 * The request whose tokens are counted. The body of `countTokens` has the contents alone, or a whole
 * `generateContentRequest`.
 */
export function parseCounted(body: unknown, head: RequestHead): MessagesRequest {
  const { generateContentRequest: whole, ...alone } = objectOr(body, "count_tokens_request");
  const { model: _, ...counted } = whole === undefined ? alone : objectOr(whole, "generate_content_request");
  return parseGemini(counted, head);
}

function objectOr(value: unknown, name: string): JsonObject {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) throw refused(`Invalid value at '${name}', expected an object.`);
  return value;
}

function parseLimit(value: unknown): number {
  if (value === undefined || value === null) return LONGEST_ANSWER;
  if (Number.isInteger(value) && (value as number) >= 1) return value as number;
  throw refused("* GenerateContentRequest.generation_config.max_output_tokens: max_output_tokens must be positive.");
}

function wantsThoughts({ includeThoughts, thinkingBudget }: JsonObject): boolean {
  return includeThoughts === true && thinkingBudget !== 0;
}

function parseSchema(config: JsonObject): JsonObject | null {
  const schema = config.responseJsonSchema ?? config._responseJsonSchema ?? config.responseSchema;
  if (schema === undefined || schema === null) {
    return config.responseMimeType === "application/json" ? { type: "object" } : null;
  }
  if (config.responseMimeType !== "application/json") {
    throw refused(
      "* GenerateContentRequest.generation_config.response_mime_type: response_schema needs response_mime_type application/json.",
    );
  }
  if (!isObject(schema)) throw refused("Invalid value at 'generation_config.response_schema', expected an object.");
  return lowered(schema);
}

/** Google writes the types of a schema in capitals. */
function lowered(schema: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === "type" && typeof value === "string" ? value.toLowerCase() : value,
  ) as JsonObject;
}

function parseTools(value: unknown): readonly Tool[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw refused("Invalid value at 'tools', expected a list.");
  return (value as unknown[]).flatMap((entry, index) => {
    if (!isObject(entry)) throw refused(`Invalid value at 'tools[${index}]', expected an object.`);
    const declared = entry.functionDeclarations ?? entry.function_declarations;
    if (declared === undefined) return Object.keys(entry).map((type) => ({ name: type, type }));
    if (!Array.isArray(declared)) throw refused(`Invalid value at 'tools[${index}].function_declarations'.`);
    return (declared as unknown[]).map((each, at) =>
      parseFunction(each, `tools[${index}].function_declarations[${at}]`),
    );
  });
}

function parseFunction(value: unknown, where: string): Tool {
  if (!isObject(value)) throw refused(`Invalid value at '${where}', expected an object.`);
  const { name, description } = value;
  if (typeof name !== "string" || !NAME.test(name)) {
    throw refused(
      `* GenerateContentRequest.${where}.name: [Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.]`,
    );
  }
  const schema = objectOr(value.parametersJsonSchema ?? value.parameters, `${where}.parameters`);
  const input_schema = { type: "object", properties: {}, ...lowered(schema) };
  return { name, ...(typeof description === "string" && { description }), input_schema };
}

function parseChoice(config: JsonObject, tools: readonly Tool[]): MessagesRequest["toolChoice"] {
  const calling = objectOr(config.functionCallingConfig ?? config.function_calling_config, "function_calling_config");
  const names = (calling.allowedFunctionNames ?? []) as readonly string[];
  const unknown = names.find((name) => !tools.some((tool) => tool.name === name));
  if (unknown !== undefined) throw refused(`Allowed function name '${unknown}' is not in the function declarations.`);
  switch (calling.mode ?? "AUTO") {
    case "AUTO":
    case "VALIDATED":
      return { type: "auto" };
    case "NONE":
      return { type: "none" };
    case "ANY":
      return names.length === 1 ? { type: "tool", name: String(names[0]) } : { type: "any" };
    default:
      throw refused(`Invalid value at 'tool_config.function_calling_config.mode', "${String(calling.mode)}".`);
  }
}
