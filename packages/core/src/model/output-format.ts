import { type Failure, type JsonObject, type ToolSchema, isJsonObject } from "@skein/protocol";
import type { ModelAbilities, ModelCall } from "../ports/model.ts";
import { answerTool } from "./answer-tool.ts";

/** How the shape of an answer is asked for: by the provider's own means, else by a tool, else in words. */
export interface AskedOutput {
  /** The schema as the provider takes it; undefined if it would reject the schema, or knows none. */
  readonly schema: JsonObject | undefined;
  readonly name: string;
  /** The system prompt, with what the model has to know if the provider is not told the schema. */
  readonly system: string;
  /** The tool whose input is the answer, if the shape is asked for by one. */
  readonly tool: ToolSchema | undefined;
}

/**
 * Keywords that Anthropic's and OpenAI's grammars reject. The answer is checked against the whole schema afterwards, so that the
 * provider may know less of it.
 */
const NOT_IN_GRAMMARS = new Set([
  ..."minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format".split(" "),
  ..."minItems maxItems uniqueItems minProperties maxProperties propertyNames default examples $schema".split(" "),
]);
/** Keywords with which a schema says more than a grammar can. */
const BEYOND_GRAMMARS = ["$ref", "oneOf", "allOf", "not", "if", "patternProperties", "prefixItems"];

/** How this call asks for its shape. */
export function askedOutput(call: ModelCall, abilities: ModelAbilities): AskedOutput | undefined {
  const { output, system, tools } = call;
  if (!output) return undefined;
  const { name } = output;
  const schema = abilities.output && !output.isRefused ? grammarOf(output.schema) : undefined;
  if (schema) return { schema, name, system, tool: undefined };
  const tool = abilities.tools ? answerTool(output.schema, tools) : undefined;
  const words = tool
    ? `When you are done, give your final answer by calling the tool ${tool.name}, once, and say nothing after it.`
    : `Give your final answer as one JSON object and nothing else. Its JSON Schema: ${JSON.stringify(output.schema)}`;
  return { schema: undefined, name, system: system === "" ? words : `${system}\n\n${words}`, tool };
}

/** Whether a failure says that the provider does not take the schema of the answer, which it was told. */
export function refusesSchema({ status, message }: Failure, call: ModelCall, abilities: ModelAbilities): boolean {
  if (status !== 400 && status !== 422) return false;
  return askedOutput(call, abilities)?.schema !== undefined && /schema|format|grammar|structured/i.test(message);
}

/** A schema as grammars take it: closed objects, no limits. Undefined if it says what they cannot. */
function grammarOf(schema: JsonObject): JsonObject | undefined {
  if (BEYOND_GRAMMARS.some((keyword) => keyword in schema)) return undefined;
  const { properties } = schema;
  const isObject = schema["type"] === "object";
  // An object without known fields, and one whose fields are free: a closed one would be empty.
  if (isObject && (!isJsonObject(properties) || isJsonObject(schema["additionalProperties"]))) return undefined;
  const made: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (NOT_IN_GRAMMARS.has(keyword) || keyword === "additionalProperties") continue;
    const inner = innerGrammar(keyword, value);
    if (inner === undefined) return undefined;
    made[keyword] = inner;
  }
  return isObject ? { ...made, additionalProperties: false } : made;
}

function innerGrammar(keyword: string, value: unknown): unknown {
  if (keyword === "properties") {
    const fields = Object.entries(value as JsonObject).map(
      ([name, field]) => [name, grammarOf(field as JsonObject)] as const,
    );
    return fields.some(([, field]) => field === undefined) ? undefined : Object.fromEntries(fields);
  }
  if (keyword === "items") return isJsonObject(value) ? grammarOf(value) : undefined;
  if (keyword !== "anyOf") return value;
  const choices = (value as readonly JsonObject[]).map(grammarOf);
  return choices.includes(undefined) ? undefined : choices;
}

/** Whether every field of every object is required, which OpenAI's strict mode asks for. */
export function isStrict(schema: JsonObject): boolean {
  const { properties, required, items, anyOf } = schema;
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  const inner = [
    ...(isJsonObject(properties) ? Object.values(properties) : []),
    ...(isJsonObject(items) ? [items] : []),
    ...(Array.isArray(anyOf) ? (anyOf as unknown[]) : []),
  ] as JsonObject[];
  return names.every((name) => Array.isArray(required) && required.includes(name)) && inner.every(isStrict);
}
