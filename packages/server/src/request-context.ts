import type { AuditLog, Unserved } from "@skein/core";
import {
  type Ids,
  KnownError,
  type ParsedRequest,
  type RouteName,
  type RouteOutput,
  type Session,
} from "@skein/protocol";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ServerDeps } from "./deps.ts";
import type { Keys, Principal } from "./keys.ts";
import type { KeyUses } from "./key-uses.ts";
import type { Logins } from "./logins.ts";
import type { IdempotencyKey } from "./http/idempotency.ts";
import type { Limits, Meter } from "./http/limits.ts";
import type { SharedPlaces } from "./http/shared-places.ts";
import type { StoreCheck } from "./observe/store-check.ts";
import type { Metrics } from "./observe/metrics.ts";
import type { RunMetrics } from "./observe/run-metrics.ts";
import type { OpenStreams } from "./streams/open-streams.ts";
import type { TenantChanges } from "./streams/tenant-changes.ts";
import type { TenantView, ViewOf } from "./tenant-views.ts";
import type { Tracing } from "./observe/tracing.ts";
import type { Webhooks } from "./webhooks/webhooks.ts";

/** Shared by all requests of a server. */
export interface ServerContext {
  readonly deps: ServerDeps;
  readonly limits: Limits;
  readonly keys: Keys;
  readonly keyUses: KeyUses;
  readonly audit: AuditLog;
  readonly logins: Logins;
  readonly meter: Meter;
  readonly places: SharedPlaces;
  readonly streams: OpenStreams;
  readonly changes: TenantChanges;
  readonly metrics: Metrics;
  readonly runMetrics: RunMetrics;
  readonly checkStore: StoreCheck;
  /** Undefined if the file store cannot be checked. */
  readonly checkFiles: StoreCheck | undefined;
  /** Finds the sessions that no worker can run. */
  readonly unserved: () => Promise<readonly Unserved[]>;
  readonly webhooks: Webhooks;
  readonly tracing: Tracing;
  readonly ids: Ids;
  readonly viewOf: ViewOf;
  readonly now: () => number;
  /** Aborts when the server begins to stop. */
  readonly stopping: AbortSignal;
}

/** The caller, with the data of their tenant. */
export interface Caller extends TenantView {
  readonly shared: ServerContext;
  readonly principal: Principal;
  /** The Idempotency-Key of the request, if it has one. */
  readonly idempotency: IdempotencyKey | undefined;
}

/** Everything that the handler of a request may use. */
export interface RequestContext extends Caller {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** A response that is not JSON. */
export interface RawAnswer {
  readonly raw: {
    readonly type: string;
    readonly payload: string | Uint8Array;
    readonly headers?: Record<string, string>;
  };
}
/** A response as JSON text that was validated before. */
export interface CheckedAnswer {
  readonly checked: string;
}
/** The result of a handler that writes the response to the connection itself. */
export const TAKEN_OVER = Symbol("taken over");

type Handler<Name extends RouteName> = (
  input: ParsedRequest<Name>,
  call: RequestContext,
) => Promise<RouteOutput<Name> | RawAnswer | CheckedAnswer | typeof TAKEN_OVER>;

export type Handlers = { readonly [Name in RouteName]: Handler<Name> };

/** Returns the session of a path. Throws if the caller's tenant or the agent in the path has no such session. */
export async function sessionIn(
  call: Caller,
  { session_id, agent_id }: { readonly session_id: string; readonly agent_id?: string | undefined },
): Promise<Session> {
  const session = await call.sessions.get(session_id);
  if (agent_id !== undefined && session.agent_id !== agent_id)
    throw new KnownError("not_found", `Agent ${agent_id} has no session ${session_id}.`);
  return session;
}
