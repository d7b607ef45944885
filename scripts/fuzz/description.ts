import { z } from "zod";
import type { JsonSchema } from "./schema-values.ts";

/** One method of one path, as the server describes it. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** The required scope; undefined if the description of the operation names no scope. */
  readonly scope: "read" | "run" | "sql" | "admin" | undefined;
  readonly parameters: readonly Parameter[];
  readonly body: { readonly schema: JsonSchema; readonly required: boolean } | undefined;
  readonly status: number;
  /** The schema of a successful answer; undefined if it is not JSON. */
  readonly response: z.ZodType | undefined;
  /** The schema of a streamed event, if the description has one. */
  readonly stream: z.ZodType | undefined;
  /** Content types that a successful answer can have besides JSON. */
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

/** Reads the description from `/openapi.json`, not from the server's code. */
export async function describe(url: string, key: string): Promise<Description> {
  const answer = await fetch(`${url}/openapi.json`, { headers: { "x-api-key": key } });
  if (!answer.ok) throw new Error(`${url}/openapi.json answered ${answer.status}. Is the key right?`);
  const { paths, components } = withDefinitions((await answer.json()) as OpenApi);
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

/** Adds all named schemas to each schema, so that its references can be resolved. */
function withDefinitions({ paths, components }: OpenApi): OpenApi {
  const local = <Value>(value: Value): Value =>
    JSON.parse(JSON.stringify(value).replaceAll('"#/components/schemas/', '"#/$defs/')) as Value;
  const $defs = local(components.schemas);
  const named = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((item) => named(item));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value as Record<string, JsonSchema>).map(([key, inner]) => [
        key,
        key === "schema" ? { ...inner, $defs } : named(inner),
      ]),
    );
  };
  const { Error } = $defs;
  return {
    paths: named(local(paths)) as OpenApi["paths"],
    components: { schemas: { ...$defs, Error: { ...Error, $defs } } },
  };
}

function validator(schema: JsonSchema): z.ZodType {
  return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
}
