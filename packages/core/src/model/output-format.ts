import { type Failure, type JsonObject, type ToolSchema, isJsonObject } from "@skein/protocol";
import type { ModelAbilities, ModelCall } from "../ports/model.ts";
import { answerTool } from "./answer-tool.ts";

/**
 * How the model gets the schema of its answer. The first possible way is used: an option of the provider, a tool, or
 * the system prompt.
 */
export interface AskedOutput {
  /** The schema in the provider's form. Undefined if the provider would reject this schema or accepts no schemas. */
  readonly schema: JsonObject | undefined;
  readonly name: string;
  /** The system prompt. If the provider is not given the schema, the prompt has instructions for the answer. */
  readonly system: string;
  /** The tool whose input is the answer; undefined if no tool is used for the schema. */
  readonly tool: ToolSchema | undefined;
}

/**
 * Keywords that Anthropic and OpenAI reject, because they turn the schema into a grammar for the model's answer. The
 * answer is checked against the whole schema afterwards, so these keywords can be left out.
 */
const NOT_IN_GRAMMARS = new Set([
  ..."minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format".split(" "),
  ..."minItems maxItems uniqueItems minProperties maxProperties propertyNames default examples $schema".split(" "),
]);
/** Keywords that a grammar cannot express and that cannot be left out. A schema with one of them has no grammar. */
const BEYOND_GRAMMARS = ["$ref", "oneOf", "allOf", "not", "if", "patternProperties", "prefixItems"];

/** Decides how the model gets the schema of its answer. */
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

/** Returns whether the failure is that the provider rejected the schema of the answer. */
export function refusesSchema({ status, message }: Failure, call: ModelCall, abilities: ModelAbilities): boolean {
  if (status !== 400 && status !== 422) return false;
  return askedOutput(call, abilities)?.schema !== undefined && /schema|format|grammar|structured/i.test(message);
}

/**
 * Returns a schema in the form for grammars: objects are closed, and limits are left out. Undefined if a grammar cannot
 * express the schema.
 */
function grammarOf(schema: JsonObject): JsonObject | undefined {
  if (BEYOND_GRAMMARS.some((keyword) => keyword in schema)) return undefined;
  const { properties } = schema;
  const isObject = schema["type"] === "object";
  // A closed object has only the fields in its list. An object without a list, or with a schema for other fields, would
  // lose fields.
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

/** Returns whether every field of every object is required. OpenAI's strict mode needs this. */
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
