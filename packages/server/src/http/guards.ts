import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ServerContext } from "../request-context.ts";
import type { Principal } from "../keys.ts";
import { inTime } from "../observe/health.ts";
import { ApiError } from "./api-error.ts";
import { checkForm, checkOrigin, keyIn } from "./check-origin.ts";
import { consoleFile } from "./console.ts";
import { loginIn } from "./login-cookie.ts";
import { type Credential, checkScope, isOpen } from "./register-routes.ts";
import { parseTraceParent } from "../observe/run-spans.ts";

const HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  // This policy is for JSON responses. Pages have other policies.
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};

/** How long a route without authentication waits for the lookup of a key. Such a route must answer within a second. */
const WAIT_FOR_STORE_MS = 500;

/** The routes of a worker: a process that runs sessions and serves no API. */
const WORKER_ROUTES: ReadonlySet<string> = new Set(["health", "ready", "metrics"]);

/** Checks caller, origin and limits before the body of a request is read. */
export function addGuards(app: FastifyInstance, shared: ServerContext): void {
  const { deps, keys, keyUses, logins, meter, metrics, now } = shared;
  const guard = { allowedHosts: deps.allowedHosts ?? [], allowedOrigins: deps.allowedOrigins ?? [] };
  app.decorateRequest("principal", undefined);
  const refuse = (request: FastifyRequest): string => {
    meter.wrongKey(request.ip);
    return keys.problemWith(keyIn(request.headers, request.raw.rawHeaders) ?? "");
  };
  const admit = (request: FastifyRequest, principal: Principal | undefined, sent: Credential): void => {
    request.principal = principal;
    if (deps.isWorker && !WORKER_ROUTES.has(request.routeOptions.config.route ?? ""))
      throw new ApiError("not_found", "This process is a worker and answers only /health, /ready and /metrics.");
    if (!isConsole(request))
      checkScope(request.routeOptions.config.route, principal, { sent, wrongKey: () => refuse(request) });
    if (shared.stopping.aborted) throw new ApiError("closed", "The server is stopping. Try again later.");
    if (!principal) return;
    meter.request(principal.keyId);
    keyUses.used(principal.keyId);
  };
  // Uses `done` instead of a promise if nothing is asynchronous, because this runs for every request.
  app.addHook("onRequest", (request, reply, done) => {
    try {
      reply.headers(HEADERS).header("x-request-id", request.id);
      checkForm(request.raw);
      const origin = checkOrigin(request.headers, guard);
      if (origin !== null) reply.headers(corsHeaders(origin));
      if (origin !== null && request.method === "OPTIONS") return void reply.code(204).send();
      const key = keyIn(request.headers, request.raw.rawHeaders);
      const sentKey = key !== undefined && key !== "";
      const login = sentKey ? undefined : loginIn(request.headers, request.method);
      const sent = sentKey ? "key" : login === undefined ? "nothing" : "login";
      const principal = sentKey
        ? keys.recognise(key, request.raw.socket)
        : login === undefined
          ? undefined
          : logins.recognise(login);
      // Fastify waits for the promise instead of `done`.
      if (principal instanceof Promise)
        return (isOpen(request.routeOptions.config.route) ? inTime(principal, WAIT_FOR_STORE_MS) : principal)
          .catch((error: unknown) => nobodyIfOpen(request, error))
          .then((found) => admit(request, found, sent));
      admit(request, principal, sent);
    } catch (error) {
      return done(error as Error);
    }
    return done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    // After a rejected upgrade the HTTP server no longer manages the connection, so it must be closed here.
    if (request.headers.upgrade !== undefined) request.raw.socket.destroySoon();
    metrics.answered(routeOf(request), request.method, reply.statusCode, reply.elapsedTime / 1000);
    if (deps.logRequests !== false) deps.log?.(requestLine(request, reply, now()));
    done();
  });
}

/** Whether a request is for a file of the console. The files need no key, because they contain no data of a tenant. */
function isConsole(request: FastifyRequest): boolean {
  return request.routeOptions.config.console === true && consoleFile(request) !== undefined;
}

/**
 * Throws the error unless the route needs no key. While the store is unavailable, routes such as `/health` are answered
 * as if the caller had no key.
 */
function nobodyIfOpen({ routeOptions }: FastifyRequest, error: unknown): undefined {
  if (!isOpen(routeOptions.config.route)) throw error;
}

function requestLine(request: FastifyRequest, reply: FastifyReply, at: number): Record<string, unknown> {
  return {
    level: "info",
    time: new Date(at).toISOString(),
    request_id: request.id,
    method: request.method,
    // The log gets the pattern of the route, because the URL may contain secrets.
    route: routeOf(request),
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    key: request.principal?.name ?? null,
    tenant: request.principal?.tenant ?? null,
    ...traceOf(request),
  };
}

/** Returns the ids of the trace and the span that the caller sent, for the request's line in the server's log. */
function traceOf({ headers }: FastifyRequest): object {
  const { traceId, spanId } = parseTraceParent(headers["traceparent"]) ?? {};
  return traceId === undefined ? {} : { trace_id: traceId, span_id: spanId };
}

function routeOf(request: FastifyRequest): string {
  return request.routeOptions.url ?? "(none)";
}

function corsHeaders(origin: string): Record<string, string> {
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-methods": "GET, POST, PATCH, DELETE",
    "access-control-allow-headers": "authorization, content-type, idempotency-key, if-match, last-event-id, x-api-key",
    "access-control-expose-headers": "etag, x-request-id, retry-after",
    vary: "origin",
  };
}
