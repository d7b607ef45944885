import { naughtyText } from "@skein/core/testing";
import type { Random } from "../kill/random.ts";

/** The part of JSON Schema that our description uses. */
export interface JsonSchema {
  /** A reference to another schema: `#/$defs/NAME`. */
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly propertyNames?: JsonSchema;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly pattern?: string;
  readonly format?: string;
}

export interface ValueOptions {
  readonly random: Random;
  /** Returns a value that exists on the server for a field of this name, such as an id or a tool. */
  readonly known: (name: string) => unknown;
  /** The schemas that a `$ref` can name. */
  readonly definitions?: Readonly<Record<string, JsonSchema>> | undefined;
}

/** Returns a value that usually fits the schema. */
export function valueOf(schema: JsonSchema, name: string, given: ValueOptions): unknown {
  const options = { ...given, definitions: schema.$defs ?? given.definitions };
  if (schema.$ref !== undefined)
    return valueOf(options.definitions?.[schema.$ref.replace("#/$defs/", "")] ?? {}, name, options);
  const { random, known } = options;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return random.pick(schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return valueOf(random.pick(choices), name, options);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => valueOf(part, name, options) as object));
  const usual = random.chance(0.97) ? known(name) : undefined;
  switch (schema.type) {
    case "object":
      return objectOf(schema, options);
    case "array": {
      const length = Math.min((schema.minItems ?? 0) + random.int(3), schema.maxItems ?? 3);
      // Half of the blocks fit their schema. The other half are typical blocks of clients, valid or not.
      const item = () =>
        name === "content" && random.chance(0.5) ? block(random) : valueOf(schema.items ?? {}, name, options);
      return Array.from({ length }, item);
    }
    case "string":
      return typeof usual === "string" ? usual : text(schema, random);
    case "integer":
    case "number":
      return number(schema, random);
    case "boolean":
      return random.chance(0.5);
    case "null":
      return null;
    default:
      return usual ?? (random.chance(0.6) ? { type: "text", text: "Hello" } : block(random));
  }
}

function objectOf(schema: JsonSchema, options: ValueOptions): Record<string, unknown> {
  const { random } = options;
  const { properties = {}, required = [], additionalProperties } = schema;
  const object: Record<string, unknown> = {};
  for (const [key, part] of Object.entries(properties))
    if (required.includes(key) || random.chance(0.3)) object[key] = valueOf(part, key, options);
  if (additionalProperties !== undefined && additionalProperties !== false && random.chance(0.5))
    object[`key_${random.int(5)}`] = additionalProperties === true ? 1 : valueOf(additionalProperties, "", options);
  return object;
}

const INSTANTS = ["2026-11-15T00:00:00Z", "2026-01-01T10:11:12.345Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"];
const HEX = "0123456789abcdef";

function text({ minLength = 0, maxLength = 60, pattern, format }: JsonSchema, random: Random): string {
  if (format === "date-time") return random.pick(INSTANTS);
  if (pattern?.startsWith("^[0-9a-f]{8}-") || format === "uuid") return uuid(random);
  if (format === "uri") return random.pick(["https://example.com/x", "http://127.0.0.1:1/", "file:///etc/hostname"]);
  const words = random.chance(0.4) ? random.pick(naughtyText) : `word ${random.int(1000)} `;
  return words.repeat(Math.max(1, Math.ceil(minLength / Math.max(1, words.length)))).slice(0, maxLength);
}

export function uuid(random: Random): string {
  const hex = (length: number): string => Array.from({ length }, () => HEX[random.int(16)]).join("");
  return `${hex(8)}-${hex(4)}-7${hex(3)}-8${hex(3)}-${hex(12)}`;
}

function number(schema: JsonSchema, random: Random): number {
  const low = schema.minimum ?? (schema.exclusiveMinimum === undefined ? 0 : schema.exclusiveMinimum + 1);
  const high = schema.maximum ?? (schema.exclusiveMaximum === undefined ? 1e6 : schema.exclusiveMaximum - 1);
  if (random.chance(0.1)) return random.pick([low, high]);
  return low + random.int(Math.max(1, Math.min(50, high - low + 1)));
}

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Returns a message block, which can be invalid. */
function block(random: Random): unknown {
  return random.pick([
    { type: "text", text: "Hello" },
    { type: "text", text: random.pick(naughtyText) },
    { type: "text", text: "x".repeat(random.int(5000)) },
    { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
    { type: "image", source: { type: "base64", media_type: "image/jpeg", data: PNG } },
    { type: "image", source: { type: "url", url: "http://127.0.0.1:1/x.png" } },
    { type: "document", source: { type: "text", media_type: "text/plain", data: "Hello" }, title: "A title" },
    { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0xLjQK" } },
    { type: "tool_result", tool_use_id: "toolu_none", content: "4" },
    { type: "tool_use", id: "toolu_none", name: "add", input: {} },
    { type: "thinking", thinking: "hm", signature: "none" },
    { type: "unheard_of", value: random.int(10) },
    random.pick(naughtyText),
    random.int(100),
    null,
    {},
  ]);
}
