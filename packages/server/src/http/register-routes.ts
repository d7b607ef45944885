import { Readable } from "node:stream";
import { type ParsedRequest, ROUTES, type Route, type RouteName, pathsOf } from "@skein/protocol";
import { isLargeJson, jsonPieces, parseInput } from "@skein/core";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "./api-error.ts";
import {
  type RequestContext,
  type CheckedAnswer,
  type Handlers,
  type RawAnswer,
  type ServerContext,
  TAKEN_OVER,
} from "../request-context.ts";
import { type Idempotency, idempotencyKey } from "./idempotency.ts";
import { type Principal, allows } from "../keys.ts";
import type { Limits } from "./limits.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The caller; undefined on an open route that was called without a key. */
    principal: Principal | undefined;
  }
  interface FastifyContextConfig {
    route?: RouteName;
  }
}

/** The caller of an open route without a key. This caller belongs to no tenant. */
const NOBODY: Principal = { keyId: "", name: "nobody", tenant: "$nobody", scopes: [] };

const BODY_LIMITS: Partial<Record<RouteName, keyof Limits>> = {
  postMessage: "messageBytes",
  answerAwait: "messageBytes",
  importSession: "importBytes",
  adoptClaudeSession: "importBytes",
  query: "messageBytes",
  querySingle: "messageBytes",
  resumeClaudeSession: "messageBytes",
  forkClaudeSession: "messageBytes",
};

/** Registers every route of the table, under each of its paths. */
export function registerRoutes(
  app: FastifyInstance,
  { handlers, shared, idempotency }: { handlers: Handlers; shared: ServerContext; idempotency: Idempotency },
): void {
  for (const name of Object.keys(ROUTES) as RouteName[]) {
    const route: Route = ROUTES[name];
    for (const path of pathsOf(route))
      app.route({
        method: route.method,
        url: path.replaceAll(/\{(\w+)\}/g, ":$1"),
        config: { route: name },
        bodyLimit: shared.limits[BODY_LIMITS[name] ?? "bodyBytes"],
        handler: (request, reply) => answer(name, { request, reply, handlers, shared, idempotency }),
      });
  }
}

/** How a caller authenticated. */
export type Credential = "nothing" | "key" | "login";

const UNKNOWN: Readonly<Record<Exclude<Credential, "key">, string>> = {
  nothing: "Expected an API key, in the header X-API-Key or as a Bearer token in Authorization.",
  login: "This login has ended. Log in again with a key.",
};

/** Whether a route needs no key. */
export function isOpen(name: RouteName | undefined): boolean {
  return name !== undefined && ROUTES[name].scope === "open";
}

/** Rejects callers without the scope of a route. Runs before the body is read. */
export function checkScope(
  name: RouteName | undefined,
  principal: Principal | undefined,
  { sent, wrongKey }: { readonly sent: Credential; readonly wrongKey: () => string },
): void {
  const scope = name === undefined ? "read" : ROUTES[name].scope;
  if (scope === "open") return;
  if (!principal) {
    const says = sent === "key" ? wrongKey() : UNKNOWN[sent];
    throw new ApiError("unauthorized", says, { headers: { "www-authenticate": "Bearer" } });
  }
  if (!allows(principal, scope)) throw new ApiError("forbidden", `This key does not have the scope "${scope}".`);
}

interface Answering {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly handlers: Handlers;
  readonly shared: ServerContext;
  readonly idempotency: Idempotency;
}

async function answer(name: RouteName, answering: Answering): Promise<unknown> {
  const { request, reply, handlers, shared, idempotency } = answering;
  const route: Route = ROUTES[name];
  const principal = request.principal ?? NOBODY;
  const input = {
    params: parsedPart(route.params, request.params),
    query: route.query ? parsedPart(route.query, request.query) : noQuery(request.query),
    body: parsedPart(route.body, request.body),
  };
  const key =
    route.method === "POST" && !route.readOnly
      ? idempotencyKey(request.headers["idempotency-key"], {
          keyId: principal.keyId,
          method: route.method,
          path: request.url,
          body: request.bodyDigest ?? "",
        })
      : undefined;
  const call: RequestContext = {
    shared,
    principal,
    ...shared.viewOf(principal),
    idempotency: key && { ...key, newId: undefined },
    request,
    reply,
  };
  // Each name has a handler of its own type. TypeScript loses this type in the loop over names.
  const handle = handlers[name] as (input: ParsedRequest<RouteName>, call: RequestContext) => Promise<unknown>;
  const work = async (newId?: string): Promise<unknown> => {
    const own = key && newId !== undefined ? { ...call, idempotency: { ...key, newId } } : call;
    return checked(route, name, await handle(input as ParsedRequest<RouteName>, own));
  };
  // Streams are not stored. With an Idempotency-Key the work begins only once, and its stream can be followed again.
  const { status, body, replayed } =
    key && !route.stream
      ? await runOnce(route, (keep) =>
          idempotency.run(key, async (newId) => {
            const made = await work(newId);
            return { status: route.status, body: keep(made), sessionId: sessionIn(input.params) ?? sessionIn(made) };
          }),
        )
      : { status: route.status, body: await work(), replayed: false };
  if (body === TAKEN_OVER) return reply;
  if (isRaw(body))
    return reply
      .code(status)
      .headers(body.raw.headers ?? {})
      .type(body.raw.type)
      .send(body.raw.payload);
  if (replayed) reply.header("idempotency-replayed", "true");
  if (body === undefined) return reply.code(status).send();
  const tag = reply.getHeader("etag");
  if (route.method === "GET" && tag !== undefined && request.headers["if-none-match"] === tag)
    return reply.code(304).send();
  return reply
    .code(route.statusWhenFailing === reply.statusCode ? reply.statusCode : status)
    .type("application/json; charset=utf-8")
    .send(isChecked(body) ? body.checked : jsonOf(body));
}

/** A response with large texts is sent in pieces, so that it is not in memory a second time. */
function jsonOf(body: unknown): string | Readable {
  return isLargeJson(body) ? Readable.from(jsonPieces(body)) : JSON.stringify(body);
}

/** Runs the work once for its Idempotency-Key. The stored answer lacks a secret that is shown only once. */
async function runOnce<Outcome extends { readonly body: unknown; readonly replayed: boolean }>(
  { shownOnce }: Route,
  run: (keep: (body: unknown) => unknown) => Promise<Outcome>,
): Promise<Outcome> {
  if (shownOnce === undefined) return run((body) => body);
  let first: unknown;
  const outcome = await run((body) => {
    first = body;
    return { ...(body as object), [shownOnce]: null };
  });
  return outcome.replayed ? outcome : { ...outcome, body: first };
}

function parsedPart(schema: Route["body"], value: unknown): unknown {
  return schema ? parseInput(schema, value ?? undefined) : undefined;
}

/** Rejects query parameters on a route that has none. */
function noQuery(query: unknown): undefined {
  const [name] = Object.keys(query as object);
  if (name !== undefined) throw new ApiError("invalid", "This route has no query parameters.");
  return undefined;
}

/** Validates a response. A response that does not match its schema is a bug and is not sent. */
function checked(route: Route, name: RouteName, body: unknown): unknown {
  if (body === TAKEN_OVER || isRaw(body) || isChecked(body) || !route.response) return body;
  const result = route.response.safeParse(body);
  if (result.success) return result.data;
  throw new Error(`The answer of ${name} does not fit its schema: ${JSON.stringify(result.error.issues.slice(0, 3))}`);
}

/** Returns the session id in a request or an answer. */
function sessionIn(part: unknown): string | undefined {
  const { session_id, id } = (part ?? {}) as { readonly session_id?: unknown; readonly id?: unknown };
  return [session_id, id].find((name): name is string => typeof name === "string");
}

function isRaw(body: unknown): body is RawAnswer {
  return typeof body === "object" && body !== null && "raw" in body;
}

function isChecked(body: unknown): body is CheckedAnswer {
  return typeof body === "object" && body !== null && "checked" in body;
}
