/** Parses the fields that the Chat Completions API and the Responses API have in common, and rejects wrong values. */
import { ApiError } from "../api-error.ts";
import { isObject, type Block, type CacheControl, type JsonObject, type MessagesRequest, type Tool } from "../wire.ts";
import type { RequestHead } from "../dialects/dialect.ts";
import { missing, refused, wrongType, wrongValue } from "./errors.ts";

/** OpenAI caches prefixes automatically. */
export const AUTOMATIC_CACHE: CacheControl = { type: "ephemeral" };
/** The limit of an answer in tokens, if the request sets no limit. */
export const LONGEST_ANSWER = 128_000;

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
export const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

export function checkBearer({ headers }: RequestHead): void {
  if (/^Bearer .+/.test(headers.authorization ?? "")) return;
  throw new ApiError(401, {
    message:
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
  });
}

export function objectAt(value: unknown, param: string): JsonObject {
  if (value === undefined) throw missing(param);
  if (!isObject(value)) throw wrongType(param, "an object", value);
  return value;
}

export function stringAt(value: unknown, param: string): string {
  if (value === undefined) throw missing(param);
  if (typeof value !== "string") throw wrongType(param, "a string", value);
  return value;
}

export function listAt(value: unknown, param: string): readonly unknown[] {
  if (value === undefined) throw missing(param);
  if (!Array.isArray(value)) throw wrongType(param, "an array of objects", value);
  return value;
}

export function oneOfAt<Value extends string>(value: unknown, param: string, values: readonly Value[]): Value {
  const text = stringAt(value, param);
  if (!(values as readonly string[]).includes(text)) throw wrongValue(param, text, values);
  return text as Value;
}

export function checkKnown(body: JsonObject, known: ReadonlySet<string>): void {
  for (const name in body) {
    if (!known.has(name)) throw refused(`Unknown parameter: '${name}'.`, name, "unknown_parameter");
  }
}

export function countAt(value: unknown, param: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Number.isInteger(value)) throw wrongType(param, "an integer", value);
  if ((value as number) >= 1) return value as number;
  throw refused(
    `Invalid '${param}': integer below minimum value. Expected a value >= 1, but got ${value as number} instead.`,
    param,
    "integer_below_min_value",
  );
}

/** Checks the settings of sampling, which both APIs limit in the same way. */
export function checkSampling(asked: JsonObject): void {
  checkRange(asked.temperature, "temperature", 2);
  checkRange(asked.top_p, "top_p", 1);
}

function checkRange(value: unknown, param: string, most: number): void {
  if (value === undefined || value === null) return;
  if (typeof value !== "number") throw wrongType(param, "a decimal", value);
  if (value >= 0 && value <= most) return;
  const [side, sign, limit] = value < 0 ? ["below minimum", ">=", 0] : ["above maximum", "<=", most];
  throw refused(
    `Invalid '${param}': decimal ${side} value. Expected a value ${sign} ${limit}, but got ${value} instead.`,
    param,
    value < 0 ? "decimal_below_min_value" : "decimal_above_max_value",
  );
}

export function booleanAt(value: unknown, param: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== "boolean") throw wrongType(param, "a boolean", value);
  return value;
}

/** Parses a function that the model may call. `where` is the path of the object that contains its name. */
export function functionTool(tool: JsonObject, where: string): Tool {
  const name = stringAt(tool.name, `${where}.name`);
  if (!NAME.test(name)) {
    throw refused(
      `Invalid '${where}.name': string does not match pattern. Expected a string that matches the pattern '${NAME.source}'.`,
      `${where}.name`,
      "invalid_value",
    );
  }
  const schema = tool.parameters === undefined || tool.parameters === null ? undefined : tool.parameters;
  const input = schema === undefined ? { type: "object", properties: {} } : objectAt(schema, `${where}.parameters`);
  if (input.type !== "object") {
    const message = `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"', got 'type: ${JSON.stringify(input.type ?? "None")}'.`;
    throw refused(message, `${where}.parameters`, "invalid_function_parameters");
  }
  if (tool.strict === true) checkStrict(input, `function '${name}'`, `${where}.parameters`);
  const description = typeof tool.description === "string" ? { description: tool.description } : {};
  return { name, ...description, input_schema: input };
}

/** A strict schema must list every property as required and allow no other properties. */
function checkStrict(schema: JsonObject, owner: string, param: string): void {
  const wrong = (what: string): ApiError => {
    const message = `Invalid schema for ${owner}: In context=(), ${what}`;
    return refused(message, param, owner.startsWith("function") ? "invalid_function_parameters" : undefined);
  };
  for (const key of ["oneOf", "allOf"]) if (key in schema) throw wrong(`'${key}' is not permitted.`);
  const properties = isObject(schema.properties) ? schema.properties : {};
  if (schema.type === "object") {
    if (schema.additionalProperties !== false)
      throw wrong("'additionalProperties' is required to be supplied and to be false.");
    const required = Array.isArray(schema.required) ? (schema.required as unknown[]) : [];
    const left = Object.keys(properties).find((key) => !required.includes(key));
    if (left !== undefined)
      throw wrong(
        `'required' is required to be supplied and to be an array including every key in properties. Missing '${left}'.`,
      );
  }
  const inner = [...Object.values(properties), schema.items, ...(Array.isArray(schema.anyOf) ? schema.anyOf : [])];
  for (const each of inner) if (isObject(each)) checkStrict(each, owner, param);
}

/** Parses the schema of an answer that must be JSON. */
export function outputSchema(format: JsonObject, param: string): JsonObject {
  stringAt(format.name, `${param}.name`);
  const schema = objectAt(format.schema, `${param}.schema`);
  if (schema.type !== "object") {
    const message = `Invalid schema for response_format '${String(format.name)}': schema must be a JSON Schema of 'type: "object"', got 'type: ${JSON.stringify(schema.type ?? "None")}'.`;
    throw refused(message, param);
  }
  if (format.strict === true) checkStrict(schema, `response_format '${String(format.name)}'`, param);
  return schema;
}

/** Parses the field `tool_choice`: `auto`, `none`, `required` or the name of a tool. */
export function toolChoice(
  choice: unknown,
  tools: readonly Tool[],
  nameOf: (choice: JsonObject) => unknown,
): MessagesRequest["toolChoice"] {
  if (choice === undefined || choice === null) return { type: "auto" };
  if (tools.length === 0) throw refused("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice");
  if (typeof choice === "string") {
    const kind = oneOfAt(choice, "tool_choice", ["none", "auto", "required"]);
    return { type: kind === "required" ? "any" : kind };
  }
  const name = stringAt(nameOf(objectAt(choice, "tool_choice")), "tool_choice.name");
  if (!tools.some((tool) => tool.name === name)) {
    throw refused(`Tool choice '${name}' not found in 'tools' parameter.`, "tool_choice");
  }
  return { type: "tool", name };
}

/** An image or a file by its URL: a data URL that contains the bytes, or a URL on the network. */
export function attachment(url: string, type: "image" | "document", param: string): Block {
  const data = /^data:([^;,]+);base64,([A-Za-z0-9+/]+=*)$/.exec(url);
  if (data) return { type, source: { type: "base64", media_type: data[1], data: data[2] } };
  if (/^https?:\/\//.test(url)) return { type, source: { type: "url", url } };
  throw refused(
    `Invalid '${param}'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), or a valid http(s) URL.`,
    param,
    "invalid_value",
  );
}

/**
 * Parses the input of a call, which should be the text of a JSON object. Nothing is rejected, because a client may send
 * back invalid JSON of a model.
 */
export function inputOf(text: string): JsonObject {
  try {
    const value = JSON.parse(text) as unknown;
    return isObject(value) ? value : { arguments: text };
  } catch {
    return { arguments: text };
  }
}
