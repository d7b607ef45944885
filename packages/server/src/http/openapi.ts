import { ErrorBody, ROUTES, type Route, type RouteName, pathsOf } from "@skein/protocol";
import type { z } from "zod";
import { createOpenApiSchemas } from "./openapi-schemas.ts";

const schemas = createOpenApiSchemas();

let made: Record<string, unknown> | undefined;

/** Returns the OpenAPI document. It is made from the table of routes. */
export function openApi(version: string): Record<string, unknown> {
  made ??= {
    openapi: "3.1.0",
    info: {
      title: "Skein",
      version,
      description: "Agents, sessions, messages and events. Every error has the same body.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The server that this description comes from" }],
    security: [{ key: [] }, { bearer: [] }],
    paths: paths(),
    components: {
      securitySchemes: {
        key: { type: "apiKey", in: "header", name: "X-API-Key" },
        bearer: { type: "http", scheme: "bearer" },
      },
      responses: {
        Error: {
          description: "An error",
          content: { "application/json": { schema: schemas.of(ErrorBody, "output") } },
        },
      },
      schemas: schemas.named,
    },
  };
  return made;
}

function paths(): Record<string, Record<string, unknown>> {
  const all: Record<string, Record<string, unknown>> = {};
  for (const name of Object.keys(ROUTES) as RouteName[]) {
    const route: Route = ROUTES[name];
    for (const [index, path] of pathsOf(route).entries())
      (all[path] ??= {})[route.method.toLowerCase()] = operation(index === 0 ? name : `${name}UnderAgent`, route, path);
  }
  return all;
}

function operation(operationId: string, route: Route, path: string): Record<string, unknown> {
  return {
    operationId,
    summary: route.summary,
    description: route.scope === "open" ? "Open to anyone." : `Needs a key with the scope \`${route.scope}\`.`,
    ...(route.scope === "open" && { security: [] }),
    parameters: [
      ...parameters(route.params, "path").filter(({ name }) => path.includes(`{${String(name)}}`)),
      ...parameters(route.query, "query"),
      ...(route.method === "POST" && !route.readOnly
        ? [
            {
              name: "Idempotency-Key",
              in: "header",
              required: false,
              schema: { type: "string", minLength: 1, maxLength: 255 },
            },
          ]
        : []),
    ],
    ...(route.body && {
      requestBody: {
        required: !route.body.safeParse(undefined).success,
        content: { "application/json": { schema: schemas.of(route.body, "input") } },
      },
    }),
    responses: {
      [route.status]: success(route),
      ...(route.statusWhenFailing && { [route.statusWhenFailing]: success(route) }),
      "4XX": { $ref: "#/components/responses/Error" },
      default: { $ref: "#/components/responses/Error" },
    },
  };
}

function parameters(schema: Route["params"], place: "path" | "query"): readonly Record<string, unknown>[] {
  if (!schema) return [];
  return Object.entries(schema.shape).map(([name, part]) => ({
    name,
    in: place,
    required: place === "path" || !(part as z.ZodType).safeParse(undefined).success,
    schema: schemas.of(part as z.ZodType, "output"),
  }));
}

function success(route: Route): Record<string, unknown> {
  const content = {
    ...(route.response && { "application/json": { schema: schemas.of(route.response, "output") } }),
    ...Object.fromEntries((route.produces ?? []).map((type) => [type, streamed(route, type)])),
  };
  return { description: route.summary, ...(Object.keys(content).length > 0 && { content }) };
}

/** The schema of one event of a stream. */
function streamed({ stream }: Route, type: string): Record<string, unknown> {
  return stream && type === "text/event-stream" ? { schema: schemas.of(stream, "output") } : {};
}
