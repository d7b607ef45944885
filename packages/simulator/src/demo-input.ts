/** Plausible values for a JSON schema, taken from a prompt where they can be found there. */
import { isObject, type JsonObject } from "./wire.ts";

const MAXIMUM_DEPTH = 5;
const MAXIMUM_ITEMS = 20;
const SIMULATED = "simulated ";

/**
 * The input for a call, if every required part was found in the prompt. Otherwise null, because a call would be a
 * guess.
 */
export function inputFor(schema: JsonObject, prompt: string): JsonObject | null {
  const input: Record<string, unknown> = {};
  for (const [name, property] of requiredOf(schema)) {
    const value = findIn(prompt, name, property);
    if (value === undefined) return null;
    input[name] = value;
  }
  return input;
}

/** A value that this schema allows. */
export function sampleOf(schema: JsonObject, prompt: string, name = "value", depth = 0): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  const found = findIn(prompt, name, schema);
  if (found !== undefined) return found;
  const either = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (Array.isArray(either) && isObject(either[0])) return sampleOf(either[0], prompt, name, depth + 1);
  switch (typeOf(schema)) {
    case "object": {
      if (depth > MAXIMUM_DEPTH) return {};
      const entries = requiredOf(schema).map(([key, each]) => [key, sampleOf(each, prompt, key, depth + 1)] as const);
      return Object.fromEntries(entries);
    }
    case "array": {
      const { items } = schema;
      if (!isObject(items) || depth > MAXIMUM_DEPTH) return [];
      const length = Math.min(Number(schema.minItems ?? 0), MAXIMUM_ITEMS);
      return Array.from({ length }, (_, at) => numbered(sampleOf(items, prompt, name, depth + 1), at));
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

function typeOf(schema: JsonObject): unknown {
  if (Array.isArray(schema.type)) return schema.type[0] as unknown;
  return schema.type ?? (isObject(schema.properties) ? "object" : "string");
}

function findIn(prompt: string, name: string, schema: JsonObject): unknown {
  if (Array.isArray(schema.enum)) {
    const options = schema.enum as unknown[];
    return options.find((option) => prompt.toLowerCase().includes(String(option).toLowerCase())) ?? options[0];
  }
  const type = typeOf(schema);
  if (type === "boolean") return false;
  if (type === "number" || type === "integer") return findNumber(prompt, name);
  if (type !== "string") return undefined;
  return findText(prompt, name);
}

/** The first number is for `a`, the second for `b`, which are the names that tools for sums usually have. */
function findNumber(prompt: string, name: string): number | undefined {
  const numbers = [...prompt.matchAll(/-?\d+(?:\.\d+)?/g)].map(([digits]) => Number(digits));
  return numbers[/^(b|y|second|right)$/i.test(name) ? 1 : 0];
}

function findText(prompt: string, name: string): string | undefined {
  const quoted = /`([^`]+)`|"([^"]+)"|'([^']+)'/.exec(prompt);
  const said = quoted?.[1] ?? quoted?.[2] ?? quoted?.[3];
  if (/path|file|dir|folder/i.test(name))
    return /(?:\.{0,2}\/)?[\w-]+(?:\/[\w.-]+)*\.\w+|(?:\/[\w.-]+)+/.exec(prompt)?.[0];
  if (/url|uri|link/i.test(name)) return /https?:\/\/\S+/.exec(prompt)?.[0];
  if (/city|location|place|country|region/i.test(name)) {
    return said ?? /\b(?:in|at|for|of|from)\s+([A-Z][\w-]*(?:\s+[A-Z][\w-]*)*)/.exec(prompt)?.[1];
  }
  if (/expression|formula/i.test(name)) return /[\d(][\d\s+*/().-]*[\d)]/.exec(prompt)?.[0] ?? said;
  if (/command|cmd|script|code/i.test(name)) return said;
  if (/query|question|prompt|text|message|input|search|term|topic|description/i.test(name)) return said ?? prompt;
  return said;
}
