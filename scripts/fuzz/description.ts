import { z } from "zod";
import type { JsonSchema } from "./schema-values.ts";

/** One method of one path, as the server describes it. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** The scope that its description names; undefined where it is open. */
  readonly scope: "read" | "run" | "sql" | "admin" | undefined;
  readonly parameters: readonly Parameter[];
  readonly body: { readonly schema: JsonSchema; readonly required: boolean } | undefined;
  readonly status: number;
  /** What a success must look like; undefined where it is not JSON. */
  readonly response: z.ZodType | undefined;
  /** One event of the stream that it answers with, where that is described. */
  readonly stream: z.ZodType | undefined;
  /** Other content that a success can have. */
  readonly produces: readonly string[];
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: JsonSchema;
}

export interface Description {
  readonly operations: readonly Operation[];
  readonly error: z.ZodType;
}

type Content = Readonly<Record<string, { readonly schema?: JsonSchema }>>;

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  readonly components: { readonly schemas: { readonly Error: JsonSchema } & Readonly<Record<string, JsonSchema>> };
}

interface RawOperation {
  readonly operationId: string;
  readonly description: string;
  readonly security?: readonly unknown[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

/** Reads `/openapi.json`. Only what it says counts: the schemas that the server checks with are not looked at. */
export async function describe(url: string, key: string): Promise<Description> {
  const answer = await fetch(`${url}/openapi.json`, { headers: { "x-api-key": key } });
  if (!answer.ok) throw new Error(`${url}/openapi.json answered ${answer.status}. Is the key right?`);
  const { paths, components } = withoutNames((await answer.json()) as OpenApi);
  return {
    operations: Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, raw]) => operation(method.toUpperCase(), path, raw)),
    ),
    error: validator(components.schemas.Error),
  };
}

function operation(method: string, path: string, raw: RawOperation): Operation {
  const [status = "200"] = Object.keys(raw.responses).filter((name) => name !== "default");
  const content = raw.responses[status]?.content ?? {};
  const response = content["application/json"]?.schema;
  const stream = content["text/event-stream"]?.schema;
  const body = raw.requestBody?.content["application/json"]?.schema;
  return {
    id: raw.operationId,
    method,
    path,
    scope: /scope `(read|run|sql|admin)`/.exec(raw.description)?.[1] as Operation["scope"],
    parameters: raw.parameters,
    body: body && { schema: body, required: raw.requestBody?.required ?? false },
    status: Number(status),
    response: response && validator(response),
    stream: stream && validator(stream),
    produces: Object.keys(content).filter((type) => type !== "application/json"),
  };
}

/** The same description with every named schema in the place of its name, as far as names inside of names are needed. */
function withoutNames(description: OpenApi): OpenApi {
  const { schemas } = description.components;
  const inlined = (value: unknown, depth: number): unknown => {
    if (Array.isArray(value)) return value.map((item) => inlined(item, depth));
    if (typeof value !== "object" || value === null) return value;
    const name = "$ref" in value ? String(value.$ref).replace("#/components/schemas/", "") : undefined;
    if (name !== undefined) return depth < DEEPEST ? inlined(schemas[name], depth + 1) : {};
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inlined(inner, depth)]));
  };
  return inlined(description, 0) as OpenApi;
}

const DEEPEST = 6;

function validator(schema: JsonSchema): z.ZodType {
  return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
}
