import { z } from "zod";

/** Randomness from a seed, so that what was found can be found again. */
export type Random = () => number;

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** As much of JSON Schema as our own description uses. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly default?: unknown;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema?: object }>> }>
  >;
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

export interface GeneratedRequest {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** What is wrong with an answer, or nothing. */
  readonly problem: (status: number, type: string, text: string) => string | undefined;
}

/** Ids of things that exist, by the name of the parameter. */
export type Pool = Readonly<Record<string, readonly string[]>>;

const ODD: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  "",
  " ",
  "\0",
  "\ud800",
  "🌍".repeat(50),
  "x".repeat(5000),
  "' OR 1=1 --",
  "../../etc/passwd",
  "${7*7}",
  "<script>",
  [],
  {},
  [[]],
  { a: { b: { c: [] } } },
  ["a", "a"],
  { $ref: "#" },
  "NaN",
  "1e9",
];

/** Makes requests from a description of an API: some that fit it, some that nearly do, some that do not at all. */
export function requestsFrom(api: OpenApi, { pool, random }: { pool: Pool; random: Random }): () => GeneratedRequest {
  const pick = <Item>(items: readonly Item[]): Item => {
    const item = items[Math.floor(random() * items.length)];
    if (item === undefined) throw new Error("There is nothing to pick from.");
    return item;
  };
  const chance = (share: number): boolean => random() < share;
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation,
      check: checker(api, operation),
    })),
  );

  function text(schema: Schema): string {
    if (schema.pattern?.includes("[0-9a-f]{8}-")) return pick(Object.values(pool).flat());
    if (schema.format === "date-time") return pick(["2026-01-01T00:00:00Z", "2030-12-31T23:59:59.999Z"]);
    return pick(["a", "hello", "x".repeat(40), "äöü", "claude-haiku-4-5", "user"]);
  }

  function valueOf(schema: Schema, depth = 0): unknown {
    if (chance(0.04)) return pick(ODD);
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return pick(schema.enum);
    const options = schema.anyOf ?? schema.oneOf;
    if (options) return valueOf(pick(options), depth);
    const type = Array.isArray(schema.type) ? pick(schema.type as string[]) : schema.type;
    switch (type) {
      case "object":
        return objectOf(schema, depth);
      case "array":
        return depth > 4
          ? []
          : Array.from({ length: Math.floor(random() * 3) }, () => valueOf(schema.items ?? {}, depth + 1));
      case "integer":
      case "number":
        return pick([schema.minimum ?? 0, Math.min(schema.maximum ?? 100, 100), 1, 7]);
      case "boolean":
        return chance(0.5);
      case "null":
        return null;
      case "string":
        return text(schema);
      default:
        return pick(ODD);
    }
  }

  function objectOf({ properties = {}, required = [] }: Schema, depth: number): Record<string, unknown> {
    const entries = Object.entries(properties)
      .filter(([name]) => (required.includes(name) ? !chance(0.03) : chance(0.3)))
      .map(([name, schema]) => [name, valueOf(schema, depth + 1)] as const);
    return Object.fromEntries(
      chance(0.03) ? [...entries, [pick(["extra", "__proto__", "id", "tenant"]), pick(ODD)]] : entries,
    );
  }

  function pathOf(path: string, operation: Operation): string {
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const known = pool[name];
      if (known && !chance(0.08)) return pick(known);
      if (chance(0.5)) return "00000000-0000-7000-8000-000000000000";
      return encodeURIComponent(pick(["1", "abc", "..", "a b", "%00", "x".repeat(280), "é"]));
    });
    const query = (operation.parameters ?? [])
      .filter((parameter) => parameter.in === "query" && chance(0.4))
      .map(({ name, schema }) => `${name}=${encodeURIComponent(plain(valueOf(schema)))}`);
    if (chance(0.02)) query.push("unknown=1");
    return query.length === 0 ? filled : `${filled}?${query.join("&")}`;
  }

  return () => {
    const { path, method, operation, check } = pick(operations);
    const schema = operation.requestBody?.content["application/json"]?.schema;
    const body = schema && !chance(0.03) ? (chance(0.02) ? "{" : JSON.stringify(valueOf(schema))) : undefined;
    const headers: Record<string, string> = {};
    if (body !== undefined) headers["content-type"] = chance(0.02) ? "text/plain" : "application/json";
    if (method === "POST" && chance(0.05)) headers["idempotency-key"] = pick(["k1", "k2", "k3"]);
    if (chance(0.02)) headers["accept"] = "application/problem+json";
    return { name: operation.operationId, method, path: pathOf(path, operation), headers, body, problem: check };
  };
}

function plain(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.toWellFormed();
}

/** Checks an answer against the description, with a parser of its own. */
function checker(api: OpenApi, operation: Operation): GeneratedRequest["problem"] {
  const error = z.fromJSONSchema(api.components.schemas["Error"] as Parameters<typeof z.fromJSONSchema>[0]);
  const schemas = Object.entries(operation.responses).flatMap(([status, { content }]) => {
    const schema = content?.["application/json"]?.schema;
    return schema && status !== "default"
      ? [[Number(status), z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])] as const]
      : [];
  });
  const byStatus = new Map(schemas);
  return (status, type, text) => {
    if (status >= 500) return `${status} ${text.slice(0, 200)}`;
    if (type.startsWith("application/problem+json") || !type.startsWith("application/json")) return undefined;
    if (status >= 400) return describe(error.safeParse(JSON.parse(text)));
    const schema = byStatus.get(status);
    return schema ? describe(schema.safeParse(JSON.parse(text))) : `${status} is not in the description`;
  };
}

function describe(result: z.ZodSafeParseResult<unknown>): string | undefined {
  return result.success ? undefined : `outside the schema: ${JSON.stringify(result.error.issues.slice(0, 2))}`;
}
