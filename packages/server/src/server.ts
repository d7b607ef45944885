import type { AddressInfo } from "node:net";
import websocket from "@fastify/websocket";
import { createAuditLog, forgetServed, withHiddenPrompts, sweepSpending } from "@skein/core";
import { type Ids, createIds, withoutSecrets } from "@skein/protocol";
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
import { registerConsole } from "./http/console.ts";
import { handlers } from "./dialects/platform/index.ts";
import { createIdempotency } from "./http/idempotency.ts";
import { acceptOnlyJson } from "./http/accept-json.ts";
import { createSharedPlaces } from "./http/shared-places.ts";
import { createKeys } from "./keys.ts";
import { createKeyUses } from "./key-uses.ts";
import { createLogins } from "./logins.ts";
import { DEFAULT_LIMITS, type Limits, createMeter } from "./http/limits.ts";
import { createFilesCheck, createStoreCheck, createUnserved } from "./observe/store-check.ts";
import { createMetrics } from "./observe/metrics.ts";
import { type MetricsListener, listenForMetrics } from "./observe/metrics-listener.ts";
import { metricsText } from "./observe/metrics-text.ts";
import { createRunMetrics } from "./observe/run-metrics.ts";
import { auditRequests } from "./http/audited-requests.ts";
import { addGuards } from "./http/guards.ts";
import { registerRoutes } from "./http/register-routes.ts";
import { createOpenStreams } from "./streams/open-streams.ts";
import { createTenantChanges } from "./streams/tenant-changes.ts";
import { acceptSockets } from "./streams/socket-connection.ts";
import { registerSocket, socketOptions } from "./streams/socket.ts";
import { createRetention } from "./retention.ts";
import { createTracing } from "./observe/tracing.ts";
import type { WebhookSender } from "./webhooks/webhook-deliveries.ts";
import { createWebhooks } from "./webhooks/webhooks.ts";
import { answerBadAddress, createUnreadableAnswer } from "./http/unreadable-request.ts";

/** The HTTP server for the sessions of a store. */
export interface Server {
  /** Starts to listen. Returns the address. */
  listen(where: { readonly port: number; readonly host: string }): Promise<string>;
  /** Serves `/metrics` without a key on a loopback port. Returns the address. */
  listenForMetrics(port: number): Promise<string>;
  /** Answers a request without a connection, for tests. */
  inject(request: InjectOptions): Promise<LightMyRequestResponse>;
  /** Every registered route. */
  readonly routes: readonly { readonly method: string; readonly path: string }[];
  /** How many streams are open. */
  openStreams(): number;
  /** Ends the streams with a closing frame, and answers every further request with 503. */
  stop(): void;
  /** Stops, and closes the listener. The store stays open. */
  close(): Promise<void>;
}

/** How long a request may still take when the server stops. */
const ANSWER_MS = 1000;
/** How often expired records are removed. */
const SWEEP_MS = 3600 * 1000;

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
  const places = createSharedPlaces(limits, deps.isShared ?? (() => false));
  const webhooks = createWebhooks({
    places: places.notices,
    // A webhook's receiver has no key. So system prompts are hidden, as for a key with the scope `read`.
    store: withHiddenPrompts(deps.store),
    sender: deps.webhookSender ?? NO_SENDER,
    ids,
    now,
    report,
    ...(deps.webhookRetryMs && { retryMs: deps.webhookRetryMs }),
  });
  const shared: ServerContext = {
    deps,
    limits,
    keys,
    audit: createAuditLog({ records: deps.store.records, ids, now, keepDays: deps.auditDays }),
    keyUses: createKeyUses({ records: deps.store.records, now }),
    logins,
    meter: createMeter(limits, now, deps.apiProcesses),
    places,
    streams,
    changes,
    metrics: createMetrics(),
    runMetrics: createRunMetrics({ store: deps.store, driven: deps.driven ?? (() => 0), now }),
    unserved: createUnserved({ store: deps.store, now }),
    checkStore: createStoreCheck({ store: deps.store, id: ids() }),
    checkFiles: createFilesCheck(deps.files),
    webhooks,
    tracing: createTracing({ ...deps, report }),
    viewOf: createTenantViews({ ...deps, ids, now, mostQueued: limits.queuedPrompts }),
    ids,
    now,
    stopping: stopping.signal,
  };
  const app = createApp(limits, ids);
  const routes = listedRoutes(app);
  acceptOnlyJson(app, places);
  addErrors(app, { log, routes });
  addGuards(app, shared);
  auditRequests(app, shared, report);
  const idempotency = createIdempotency({ records: deps.store.records, now, ids, report, process: deps.process });
  registerRoutes(app, { handlers, shared, idempotency });
  if (deps.console) registerConsole(app, deps.console);
  await registerSockets(app, shared);
  await app.ready();
  const sweeping = sweepHourly(
    () => [
      ...[idempotency, webhooks, logins, shared.audit].map((part) => part.sweep()),
      createRetention(shared, deps.retention ?? {}).pass(),
      forgetServed(deps.store.records, now()),
      sweepSpending(deps.store.records, { now: now(), keepDays: deps.auditDays }),
    ],
    (error) => stopping.signal.aborted || report(error),
  );

  let metrics: MetricsListener | undefined;
  const stop = (): void => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    clearInterval(sweeping);
    for (const part of [streams, changes, webhooks, shared.tracing, shared.runMetrics]) part.stop();
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

/** Creates the HTTP framework with the server's limits, and with answers to requests that the framework cannot parse. */
function createApp(limits: Limits, ids: Ids): FastifyInstance {
  return fastify({
    logger: false,
    exposeHeadRoutes: false,
    genReqId: () => ids(),
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestMs,
    http: { headersTimeout: limits.requestMs, connectionsCheckingInterval: Math.min(limits.requestMs, 5000) },
    routerOptions: { maxParamLength: 300 },
    // Requests in progress are answered. `close` cuts requests that take longer than ANSWER_MS.
    forceCloseConnections: "idle",
    // While the server stops, the server's code answers requests with 503.
    return503OnClosing: false,
    frameworkErrors: answerBadAddress,
    clientErrorHandler: createUnreadableAnswer(ids),
  });
}

/** Registers WebSockets in a separate Fastify scope. Otherwise the plugin's hooks would run for every request. */
async function registerSockets(app: FastifyInstance, shared: ServerContext): Promise<void> {
  await app.register(async (sockets) => {
    await sockets.register(websocket, { options: socketOptions(shared.limits) });
    registerSocket(sockets, shared);
    acceptSockets(sockets, shared, { path: CLAUDE_SOCKET, connect: createClaudeConnection });
  });
}

/** Collects the routes that are added to the app after this call. */
function listedRoutes(app: FastifyInstance): Server["routes"] {
  const routes: { method: string; path: string }[] = [];
  app.addHook("onRoute", ({ method, url }) => {
    for (const one of [method].flat()) routes.push({ method: one, path: url });
  });
  return routes;
}

/** Removes expired records and sessions, now and every hour. */
function sweepHourly(sweeps: () => readonly Promise<unknown>[], failed: (error: unknown) => unknown): NodeJS.Timeout {
  const sweep = (): void => void Promise.all(sweeps()).catch(failed);
  sweep();
  return setInterval(sweep, SWEEP_MS).unref();
}

function addErrors(
  app: FastifyInstance,
  { log, routes }: { log: NonNullable<ServerDeps["log"]>; routes: Server["routes"] },
): void {
  const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply): unknown => {
    const { status, body, headers, isBug } = errorAnswer(error, request.id, request.url);
    request.problem = body.error;
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
    if (allow === "")
      return answer(
        new ApiError("not_found", "There is no such route. GET /openapi.json describes all routes."),
        request,
        reply,
      );
    const message = `This route accepts ${allow}, not ${request.method}.`;
    return answer(new ApiError("method_not_allowed", message, { headers: { allow } }), request, reply);
  });
}
