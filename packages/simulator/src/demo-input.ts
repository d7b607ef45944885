/** Makes values for a JSON schema. Prefers values from the prompt and from results of tools to invented values. */
import { findValue, type Known, SIMULATED, typeOf } from "./find-value.ts";
import { isObject, type JsonObject } from "./wire.ts";

const MAXIMUM_DEPTH = 5;
const MAXIMUM_ITEMS = 20;

/**
 * The input for a tool call, with values from the prompt. Null if the prompt lacks a required value, because then the
 * call would be a guess.
 */
export function inputFor(schema: JsonObject, prompt: string): JsonObject | null {
  const input: Record<string, unknown> = {};
  for (const [name, property] of requiredOf(schema)) {
    const value = findValue({ prompt, results: [] }, name, property);
    if (value === undefined) return null;
    input[name] = value;
  }
  return input;
}

/** A value that this schema allows. */
export function sampleOf(schema: JsonObject, known: Known, name = "value", depth = 0): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  const found = findValue(known, name, schema);
  if (found !== undefined) return found;
  const either = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (Array.isArray(either) && isObject(either[0])) return sampleOf(either[0], known, name, depth + 1);
  switch (typeOf(schema)) {
    case "object": {
      if (depth > MAXIMUM_DEPTH) return {};
      const entries = requiredOf(schema).map(([key, each]) => [key, sampleOf(each, known, key, depth + 1)] as const);
      return Object.fromEntries(entries);
    }
    case "array": {
      const { items } = schema;
      if (!isObject(items) || depth > MAXIMUM_DEPTH) return [];
      const length = Math.min(Number(schema.minItems ?? 0), MAXIMUM_ITEMS);
      return Array.from({ length }, (_, at) => numbered(sampleOf(items, known, name, depth + 1), at));
    }
    case "number":
    case "integer":
      return Number(schema.minimum ?? 1);
    case "boolean":
      return false;
    case "null":
      return null;
    default:
      return `${SIMULATED}${name}`;
  }
}

/** Made-up items differ from each other, because a schema may require unique items. */
function numbered(value: unknown, at: number): unknown {
  if (at === 0) return value;
  if (typeof value === "string") return value.startsWith(SIMULATED) ? `${value} ${at + 1}` : value;
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, numbered(each, at)]));
}

function requiredOf(schema: JsonObject): readonly (readonly [string, JsonObject])[] {
  const required = Array.isArray(schema.required) ? (schema.required as unknown[]) : [];
  const properties = isObject(schema.properties) ? schema.properties : {};
  return required.map((name) => {
    const property = properties[String(name)];
    return [String(name), isObject(property) ? property : {}];
  });
}
