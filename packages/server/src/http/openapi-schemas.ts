import * as protocol from "@skein/protocol";
import { z } from "zod";

type Json = Record<string, unknown>;
type Direction = "input" | "output";

/** JSON Schemas of the protocol's shapes. A schema with an exported name is described once, under this name. */
export interface OpenApiSchemas {
  /** Returns a schema, or a reference if the schema has a name. */
  of(schema: z.ZodType, io: Direction): Json;
  /** The schemas that were referenced so far, by name. */
  readonly named: Readonly<Record<string, Json>>;
}

const { AnyBlock, ContentBlock, KNOWN_BLOCKS } = protocol;

export function createOpenApiSchemas(): OpenApiSchemas {
  const named: Record<string, Json> = {};

  function of(schema: z.ZodType, io: Direction): Json {
    const made = z.toJSONSchema(schema, {
      io,
      unrepresentable: "any",
      metadata: NAMES,
      override({ zodSchema, jsonSchema }) {
        // A function checks content blocks, and no schema can be derived from a function.
        if (zodSchema === (ContentBlock as unknown))
          Object.assign(jsonSchema, { anyOf: BLOCKS.map((one) => of(one, io)) });
      },
    });
    const { $schema: _, $defs = {}, ...rest } = made as Json & { $defs?: Record<string, Json> };
    const renamed = new Map(Object.entries($defs).map(([name, shape]) => [name, keep(name, shape, io)]));
    for (const [name, shape] of Object.entries($defs)) named[renamed.get(name) as string] = referring(shape, renamed);
    return referring(rest, renamed);
  }

  /**
   * Returns the name under which a schema is described. The variant for requests gets another name if requests may
   * leave out more fields than responses.
   */
  function keep(name: string, shape: Json, io: Direction): string {
    const known = named[name];
    const same = new Map(Object.keys(named).map((one) => [one, one]));
    if (io === "output" || !known || JSON.stringify(known) === JSON.stringify(referring(shape, same))) return name;
    return `${name}Input`;
  }

  return { of, named };
}

/** The exported name of each schema. */
const NAMES = namesOf(protocol);

function namesOf(exported: Readonly<Record<string, unknown>>): z.core.$ZodRegistry<Json> {
  const names = z.registry<Json>();
  const shapes = Object.entries(exported).filter((entry): entry is [string, z.ZodType] => isShape(entry[1]));
  const taken = new Set<string>();
  // A schema named `Api…` loses this prefix. It comes first, so that no other schema gets the shorter name.
  for (const [name, shape] of shapes.toSorted(
    ([a], [b]) => Number(b.startsWith("Api")) - Number(a.startsWith("Api")),
  )) {
    const id = name.replace(/^Api(?=[A-Z])/, "");
    if (!taken.has(id)) names.add(shape, { id });
    taken.add(id);
  }
  const own = names.get.bind(names);
  names.get = (schema) => ({ ...z.globalRegistry.get(schema), ...own(schema) });
  return names;
}

function isShape(value: unknown): boolean {
  return value === ContentBlock || value instanceof z.ZodObject || value instanceof z.ZodDiscriminatedUnion;
}

/** Copies a value. References in the copy point to the schemas' places in the document. */
function referring<Value>(value: Value, renamed: ReadonlyMap<string, string>): Value {
  if (Array.isArray(value)) return value.map((one) => referring(one, renamed)) as Value;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).flatMap(([key, part]): [string, unknown][] => {
    if (key === "id" && typeof part === "string") return [];
    if (key !== "$ref" || typeof part !== "string") return [[key, referring(part, renamed)]];
    const name = part.replace("#/$defs/", "");
    return [[key, part === name ? part : `#/components/schemas/${renamed.get(name) ?? name}`]];
  });
  return Object.fromEntries(entries) as Value;
}

/** The content blocks that are validated. Other blocks are accepted unchanged. */
const BLOCKS: readonly z.ZodType[] = [
  ...Object.values(KNOWN_BLOCKS),
  AnyBlock.extend({ type: z.string().meta({ not: { enum: Object.keys(KNOWN_BLOCKS) } }) }).describe(
    "Any other block of the Messages API. It is passed on as it is.",
  ),
];
