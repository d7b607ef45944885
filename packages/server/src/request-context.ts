import type { Unserved } from "@skein/core";
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
import type { Logins } from "./logins.ts";
import type { IdempotencyKey } from "./http/idempotency.ts";
import type { Limits, Meter } from "./http/limits.ts";
import type { StoreCheck } from "./observe/store-check.ts";
import type { Metrics } from "./observe/metrics.ts";
import type { RunMetrics } from "./observe/run-metrics.ts";
import type { OpenStreams } from "./streams/open-streams.ts";
import type { TenantChanges } from "./streams/tenant-changes.ts";
import type { TenantView } from "./tenant-views.ts";
import type { Tracing } from "./observe/tracing.ts";
import type { Webhooks } from "./webhooks/webhooks.ts";

/** What all requests of a server share. */
export interface ServerContext {
  readonly deps: ServerDeps;
  readonly limits: Limits;
  readonly keys: Keys;
  readonly logins: Logins;
  readonly meter: Meter;
  readonly streams: OpenStreams;
  readonly changes: TenantChanges;
  readonly metrics: Metrics;
  readonly runMetrics: RunMetrics;
  readonly checkStore: StoreCheck;
  /** Undefined where the place of files cannot be asked. */
  readonly checkFiles: StoreCheck | undefined;
  /** The sessions that no server could drive lately. */
  readonly unserved: () => Promise<readonly Unserved[]>;
  readonly webhooks: Webhooks;
  readonly tracing: Tracing;
  readonly ids: Ids;
  readonly viewOf: (tenant: string) => TenantView;
  readonly now: () => number;
  /** Aborts when the server begins to stop. */
  readonly stopping: AbortSignal;
}

/** Who calls, with their own view of the data. */
export interface Caller extends TenantView {
  readonly shared: ServerContext;
  readonly principal: Principal;
  /** Makes a repeated request do its work once, where the caller sent a key for that. */
  readonly idempotency: IdempotencyKey | undefined;
}

/** One request, with everything that its handler may use. */
export interface RequestContext extends Caller {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** An answer that is not JSON of the route's schema. */
export interface RawAnswer {
  readonly raw: {
    readonly type: string;
    readonly payload: string | Uint8Array;
    readonly headers?: Record<string, string>;
  };
}
/** An answer that was checked before, as text: what does not change is made once. */
export interface CheckedAnswer {
  readonly checked: string;
}
/** The handler has taken the connection over. */
export const TAKEN_OVER = Symbol("taken over");

type Handler<Name extends RouteName> = (
  input: ParsedRequest<Name>,
  call: RequestContext,
) => Promise<RouteOutput<Name> | RawAnswer | CheckedAnswer | typeof TAKEN_OVER>;

export type Handlers = { readonly [Name in RouteName]: Handler<Name> };

/** The session of a path: there, the caller's, and the agent's that the path names. */
export async function sessionIn(
  call: Caller,
  { session_id, agent_id }: { readonly session_id: string; readonly agent_id?: string | undefined },
): Promise<Session> {
  const session = await call.sessions.get(session_id);
  if (agent_id !== undefined && session.agent_id !== agent_id)
    throw new KnownError("not_found", `Agent ${agent_id} has no session ${session_id}.`);
  return session;
}
