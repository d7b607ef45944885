import { type Agents, type Models, type Sessions, createAgents, createModels, createSessions } from "@skein/core";
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
import type { StoreCheck } from "./observe/health.ts";
import type { Metrics } from "./observe/metrics.ts";
import type { OpenStreams } from "./streams/open-streams.ts";
import type { TenantChanges } from "./streams/tenant-changes.ts";
import type { Tracing } from "./observe/tracing.ts";
import type { Webhooks } from "./webhooks/webhooks.ts";

/** What all requests of a server share. */
export interface Shared {
  readonly deps: ServerDeps;
  readonly limits: Limits;
  readonly keys: Keys;
  readonly logins: Logins;
  readonly meter: Meter;
  readonly streams: OpenStreams;
  readonly changes: TenantChanges;
  readonly metrics: Metrics;
  readonly checkStore: StoreCheck;
  readonly webhooks: Webhooks;
  readonly tracing: Tracing;
  readonly ids: Ids;
  readonly viewOf: (tenant: string) => View;
  readonly now: () => number;
  /** Aborts when the server begins to stop. */
  readonly stopping: AbortSignal;
}

/** Who calls, with their own view of the data. */
export interface Caller {
  readonly shared: Shared;
  readonly principal: Principal;
  readonly sessions: Sessions;
  readonly agents: Agents;
  readonly models: Models;
  /** Makes a repeated request do its work once, where the caller sent a key for that. */
  readonly idempotency: IdempotencyKey | undefined;
}

/** One request. */
export interface Call extends Caller {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** An answer that is not JSON of the route's schema. */
export interface Raw {
  readonly raw: {
    readonly type: string;
    readonly payload: string | Uint8Array;
    readonly headers?: Record<string, string>;
  };
}
/** An answer that was checked before, as text: what does not change is made once. */
export interface Checked {
  readonly checked: string;
}
/** The handler has taken the connection over. */
export const TAKEN_OVER = Symbol("taken over");

type Handler<Name extends RouteName> = (
  input: ParsedRequest<Name>,
  call: Call,
) => Promise<RouteOutput<Name> | Raw | Checked | typeof TAKEN_OVER>;

export type Handlers = { readonly [Name in RouteName]: Handler<Name> };

export type View = Pick<Caller, "sessions" | "agents" | "models">;

/** Tenants whose view is kept. */
const VIEWS = 1000;

/** The data as each tenant sees it. */
export function createViews({
  store,
  reserve,
  ids,
  now,
}: Pick<ServerDeps, "store" | "reserve"> & { ids: Ids; now: () => number }): (tenant: string) => View {
  const views = new Map<string, View>();
  const { records } = store;
  return (tenant) => {
    const known = views.get(tenant);
    if (known) return known;
    const view = {
      sessions: createSessions({ store, tenant, now, ids, reserve }),
      agents: createAgents({ records, tenant, now, ids }),
      models: createModels({ records, tenant, now, ids }),
    };
    if (views.size >= VIEWS) views.clear();
    views.set(tenant, view);
    return view;
  };
}

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
