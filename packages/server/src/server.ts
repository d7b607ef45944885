import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import websocket from "@fastify/websocket";
import { forgetServed } from "@skein/core";
import { createIds, withoutSecrets } from "@skein/protocol";
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type InjectOptions,
  type LightMyRequestResponse,
} from "fastify";
import { allowedMethods } from "./http/allowed-methods.ts";
import { ApiError, errorAnswer, problemOf } from "./http/api-error.ts";
import type { ServerContext } from "./request-context.ts";
import { createTenantViews } from "./tenant-views.ts";
import { CLAUDE_SOCKET, createClaudeConnection } from "./dialects/claude/socket.ts";
import type { ServerDeps } from "./deps.ts";
import { consoleFile, registerConsole } from "./http/console.ts";
import { checkForm, checkOrigin, keyIn } from "./http/check-origin.ts";
import { handlers } from "./dialects/platform/index.ts";
import { createIdempotency } from "./http/idempotency.ts";
import { readJson } from "./http/json-body.ts";
import { BODY_SHAPE, LOG_SHAPE } from "./http/json-shape.ts";
import { type Principal, createKeys } from "./keys.ts";
import { createLogins } from "./logins.ts";
import { loginIn } from "./http/login-cookie.ts";
import { DEFAULT_LIMITS, createMeter } from "./http/limits.ts";
import { inTime } from "./observe/health.ts";
import { createStoreCheck, createUnserved } from "./observe/store-check.ts";
import { createMetrics } from "./observe/metrics.ts";
import { type MetricsListener, listenForMetrics } from "./observe/metrics-listener.ts";
import { metricsText } from "./observe/metrics-text.ts";
import { createRunMetrics } from "./observe/run-metrics.ts";
import { type Credential, checkScope, isOpen, registerRoutes } from "./http/register-routes.ts";
import { createOpenStreams } from "./streams/open-streams.ts";
import { createTenantChanges } from "./streams/tenant-changes.ts";
import { acceptSockets } from "./streams/socket-connection.ts";
import { registerSocket, socketOptions } from "./streams/socket.ts";
import { createTracing } from "./observe/tracing.ts";
import type { WebhookSender } from "./webhooks/webhook-deliveries.ts";
import { createWebhooks } from "./webhooks/webhooks.ts";
import { answerBadAddress, createUnreadableAnswer } from "./http/unreadable-request.ts";

/** The platform API over a store. */
export interface Server {
  /** Starts to listen; answers the address. */
  listen(where: { readonly port: number; readonly host: string }): Promise<string>;
  /** Answers `/metrics` without a key on a port of this machine alone. */
  listenForMetrics(port: number): Promise<string>;
  /** Answers a request without a connection, for tests. */
  inject(request: InjectOptions): Promise<LightMyRequestResponse>;
  /** Every route that the router has. */
  readonly routes: readonly { readonly method: string; readonly path: string }[];
  /** Connections that are open as streams. */
  openStreams(): number;
  /** Tells the streams, and refuses requests from now on: `/ready` and everything else is answered with 503. */
  stop(): void;
  /** Stops, and ends the listener. The store stays open. */
  close(): Promise<void>;
}

const HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  // Data may do nothing at all; the pages bring a policy of their own.
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};

/** What a lookup of a key leaves of the second in which an open route is answered. */
const WAIT_FOR_STORE_MS = 500;
/** How long a request may still take when the server stops. */
const ANSWER_MS = 1000;
/** How often it is looked for what is no longer kept. */
const SWEEP_MS = 3600 * 1000;

/** What a process that only drives sessions answers. */
const WORKER_ROUTES: ReadonlySet<string> = new Set(["health", "ready", "metrics"]);

const NO_SENDER: WebhookSender = {
  problemWith: () => undefined,
  send: () => Promise.reject(new Error("This server sends no webhooks.")),
};

export async function createServer(deps: ServerDeps): Promise<Server> {
  const { now = Date.now, log = () => {} } = deps;
  const limits = { ...DEFAULT_LIMITS, ...deps.limits };
  const keys = createKeys({ records: deps.store.records, now });
  const report = (error: unknown): void => log({ level: "error", message: withoutSecrets(String(error)) });
  const logins = createLogins({ records: deps.store.records, keys, now });
  const streams = createOpenStreams({ keys, logins, report });
  const changes = createTenantChanges({ store: deps.store, now, report });
  const ids = createIds({ now });
  const stopping = new AbortController();
  const webhooks = createWebhooks({
    store: deps.store,
    sender: deps.webhookSender ?? NO_SENDER,
    ids,
    now,
    report,
    ...(deps.webhookRetryMs && { retryMs: deps.webhookRetryMs }),
  });
  const tracing = createTracing({ store: deps.store, endpoint: deps.traceEndpoint, report });
  const shared: ServerContext = {
    deps,
    limits,
    keys,
    logins,
    meter: createMeter(limits, now, deps.apiProcesses),
    streams,
    changes,
    metrics: createMetrics(),
    runMetrics: createRunMetrics({ store: deps.store, driven: deps.driven ?? (() => 0), now }),
    unserved: createUnserved({ store: deps.store, now }),
    checkStore: createStoreCheck({ store: deps.store, id: ids() }),
    webhooks,
    tracing,
    viewOf: createTenantViews({ ...deps, ids, now }),
    ids,
    now,
    stopping: stopping.signal,
  };
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    genReqId: () => ids(),
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestMs,
    http: { headersTimeout: limits.requestMs, connectionsCheckingInterval: Math.min(limits.requestMs, 5000) },
    routerOptions: { maxParamLength: 300 },
    // What is being answered is answered; `close` cuts what takes longer.
    forceCloseConnections: "idle",
    // Our own answer, in our own form, while the server stops.
    return503OnClosing: false,
    frameworkErrors: answerBadAddress,
    clientErrorHandler: createUnreadableAnswer(ids),
  });
  const routes: { method: string; path: string }[] = [];
  app.addHook("onRoute", ({ method, url }) => {
    for (const one of [method].flat()) routes.push({ method: one, path: url });
  });
  acceptOnlyJson(app);
  addErrors(app, { log, routes });
  addGuards(app, shared);
  const idempotency = createIdempotency({ records: deps.store.records, now, ids, report, process: deps.process });
  registerRoutes(app, { handlers, shared, idempotency });
  if (deps.console) registerConsole(app, deps.console);
  // In a room of their own: what sockets need would otherwise run for every request.
  await app.register(async (sockets) => {
    await sockets.register(websocket, { options: socketOptions(limits) });
    registerSocket(sockets, shared);
    acceptSockets(sockets, shared, { path: CLAUDE_SOCKET, connect: createClaudeConnection });
  });
  await app.ready();
  const sweep = (): void =>
    void Promise.all([
      idempotency.sweep(),
      webhooks.sweep(),
      logins.sweep(),
      forgetServed(deps.store.records, now()),
    ]).catch((error: unknown) => stopping.signal.aborted || report(error));
  const sweeping = setInterval(sweep, SWEEP_MS).unref();
  sweep();

  let metrics: MetricsListener | undefined;
  const stop = (): void => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    clearInterval(sweeping);
    streams.stop();
    changes.stop();
    webhooks.stop();
    tracing.stop();
    shared.runMetrics.stop();
    streams.closeAll();
  };

  return {
    async listen({ port, host }) {
      await app.listen({ port, host });
      const { address, family, port: bound } = app.server.address() as AddressInfo;
      return `http://${family === "IPv6" ? `[${address}]` : address}:${bound}`;
    },
    async listenForMetrics(port) {
      metrics = await listenForMetrics(port, () => metricsText(shared, { withRuns: true }));
      return metrics.url;
    },
    inject: (request) => app.inject(request),
    routes,
    openStreams: () => streams.size,
    stop,
    async close() {
      stop();
      const late = setTimeout(() => app.server.closeAllConnections(), ANSWER_MS);
      await Promise.all([app.close(), metrics?.close()]);
      clearTimeout(late);
    },
  };
}

function acceptOnlyJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.decorateRequest("bodyDigest", undefined);
  app.addContentTypeParser("application/json", async (request: FastifyRequest, payload: Readable) => {
    const { headers, routeOptions } = request;
    if (!isPlainUtf8(headers)) throw new ApiError("unsupported_media_type", "Expected JSON in UTF-8, not compressed.");
    const { value, digest } = await readJson(payload, {
      limit: routeOptions.bodyLimit ?? app.initialConfig.bodyLimit ?? 0,
      shape: routeOptions.config.route === "importSession" ? LOG_SHAPE : BODY_SHAPE,
      announced: Number(headers["content-length"]),
      digested: headers["idempotency-key"] !== undefined,
    });
    request.bodyDigest = digest;
    return value;
  });
}

function isPlainUtf8({
  "content-type": type = "",
  "content-encoding": coding = "identity",
}: IncomingHttpHeaders): boolean {
  const charset = /;\s*charset="?([^";\s]*)/i.exec(type)?.[1] ?? "utf-8";
  return coding.toLowerCase() === "identity" && /^(utf-?8|us-ascii)$/i.test(charset);
}

function addErrors(
  app: FastifyInstance,
  { log, routes }: { log: NonNullable<ServerDeps["log"]>; routes: Server["routes"] },
): void {
  const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply): unknown => {
    const { status, body, headers, isBug } = errorAnswer(error, request.id, request.url);
    if (isBug) {
      const { stack = String(error) } = error as { stack?: string };
      log({
        level: "error",
        request_id: request.id,
        route: request.routeOptions.url ?? null,
        message: withoutSecrets(stack),
      });
    }
    const asProblem = request.headers.accept?.includes("application/problem+json") ?? false;
    return reply
      .code(status)
      .headers(headers)
      .type(asProblem ? "application/problem+json" : "application/json; charset=utf-8")
      .send(JSON.stringify(asProblem ? problemOf(body) : body));
  };
  app.setErrorHandler(answer);
  app.setNotFoundHandler((request, reply) => {
    const allow = allowedMethods(routes, request.url).join(", ");
    if (allow === "") return answer(new ApiError("not_found", "There is no such route."), request, reply);
    const message = `This address answers ${allow} and not ${request.method}.`;
    return answer(new ApiError("method_not_allowed", message, { headers: { allow } }), request, reply);
  });
}

/** Before routing and parsing: who calls, from where, and whether it may. */
function addGuards(app: FastifyInstance, shared: ServerContext): void {
  const { deps, keys, logins, meter, metrics, now } = shared;
  const guard = { allowedHosts: deps.allowedHosts ?? [], allowedOrigins: deps.allowedOrigins ?? [] };
  app.decorateRequest("principal", undefined);
  const admit = (request: FastifyRequest, principal: Principal | undefined, sent: Credential): void => {
    request.principal = principal;
    if (deps.isWorker && !WORKER_ROUTES.has(request.routeOptions.config.route ?? ""))
      throw new ApiError("not_found", "This process is a worker and answers only /health, /ready and /metrics.");
    if (!isConsole(request)) checkScope(request.routeOptions.config.route, principal, sent);
    if (shared.stopping.aborted) throw new ApiError("closed", "The server is stopping. Try again later.");
    if (principal) meter.request(principal.keyId);
  };
  // With `done` and without a promise where nothing has to be waited for: this runs for every request.
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
      // A promise is waited for instead of `done`.
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
    // A refused upgrade is no connection of the HTTP server any more: nobody else would close it.
    if (request.headers.upgrade !== undefined) request.raw.socket.destroySoon();
    metrics.answered(routeOf(request), request.method, reply.statusCode, reply.elapsedTime / 1000);
    if (deps.logRequests !== false) deps.log?.(requestLine(request, reply, now()));
    done();
  });
}

/** The files of the console are for everybody: what they show is asked for with a key. */
function isConsole(request: FastifyRequest): boolean {
  return request.routeOptions.config.console === true && consoleFile(request) !== undefined;
}

/** A store that is away says nothing about keys: what is for everybody, such as how the server does, is still answered. */
function nobodyIfOpen({ routeOptions }: FastifyRequest, error: unknown): undefined {
  if (!isOpen(routeOptions.config.route)) throw error;
}

function requestLine(request: FastifyRequest, reply: FastifyReply, at: number): Record<string, unknown> {
  return {
    level: "info",
    time: new Date(at).toISOString(),
    request_id: request.id,
    method: request.method,
    // The pattern and not the address, which may carry what callers should not have put there.
    route: routeOf(request),
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    key: request.principal?.name ?? null,
    tenant: request.principal?.tenant ?? null,
  };
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
