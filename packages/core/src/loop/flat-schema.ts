import { type JsonObject, isJsonObject } from "@skein/protocol";

/**
 * Returns the schema of a tool without alternatives (`anyOf`, `oneOf`, `allOf`) at its root. The API rejects such
 * alternatives, so a tool with them would make every call fail. The result has the fields of all alternatives. A field
 * is required if every alternative requires it. The input is still checked with the given schema before the tool runs.
 */
export function flatSchema(schema: JsonObject): JsonObject {
  const { anyOf, oneOf, allOf, ...rest } = schema;
  if (anyOf === undefined && oneOf === undefined && allOf === undefined) return schema;
  const read = (list: unknown): readonly JsonObject[] =>
    Array.isArray(list) ? list.map((part: unknown) => flatSchema(resolved(part, schema))) : [];
  const whole = [rest, ...read(allOf)];
  const choices = [read(anyOf), read(oneOf)].filter((list) => list.length > 0);
  const required = new Set([...whole.flatMap(requiredBy), ...choices.flatMap(requiredByAll)]);
  const properties = merged([...whole, ...choices.flat()].map(fieldsOf));
  return { ...rest, type: "object", properties, ...(required.size > 0 && { required: [...required] }) };
}

/** Returns the schema behind a local reference. */
function resolved(part: unknown, schema: JsonObject): JsonObject {
  const ref = isJsonObject(part) ? part["$ref"] : undefined;
  if (typeof ref !== "string" || !ref.startsWith("#/")) return isJsonObject(part) ? part : {};
  const steps = ref.slice(2).split("/");
  const found = steps.reduce<unknown>((at, step) => (isJsonObject(at) ? at[step] : undefined), schema);
  return isJsonObject(found) && found["$ref"] === undefined ? found : {};
}

function requiredBy({ required }: JsonObject): readonly string[] {
  return Array.isArray(required) ? (required as string[]) : [];
}

function requiredByAll([first, ...others]: readonly JsonObject[]): readonly string[] {
  return requiredBy(first ?? {}).filter((name) => others.every((other) => requiredBy(other).includes(name)));
}

function fieldsOf({ properties }: JsonObject): JsonObject {
  return isJsonObject(properties) ? properties : {};
}

/**
 * Merges the fields of all alternatives. If alternatives define a field differently, any of the definitions is allowed.
 */
function merged(all: readonly JsonObject[]): JsonObject {
  const ways = new Map<string, Map<string, unknown>>();
  for (const fields of all)
    for (const [name, field] of Object.entries(fields)) {
      const known = ways.get(name) ?? new Map<string, unknown>();
      ways.set(name, known.set(JSON.stringify(field), field));
    }
  return Object.fromEntries(
    [...ways].map(([name, known]) => {
      const fields = [...known.values()];
      return [name, fields.length === 1 ? fields[0] : { anyOf: fields }];
    }),
  );
}
