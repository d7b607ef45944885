import { z } from "zod";
import { Uuid } from "../../ids.ts";

/**
 * The scope that a caller needs. `open` routes need no key. The scopes `run` and `sql` include `read`, and `admin`
 * includes all scopes.
 */
export type Scope = "open" | "read" | "run" | "sql" | "admin";

export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** The path, with `{name}` for each parameter. */
  readonly path: string;
  readonly scope: Scope;
  readonly summary: string;
  /** Adds the same route under `/v1/agents/{agent_id}`. The session must belong to this agent. */
  readonly underAgent?: true;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly status: 200 | 201 | 202 | 204;
  /** The status of the same response if the server cannot serve requests. */
  readonly statusWhenFailing?: 503;
  /** The body of a successful response. */
  readonly response?: z.ZodType;
  /** Content types of the response, in addition to JSON. */
  readonly produces?: readonly string[];
  /**
   * A POST that stores nothing, such as SQL or a login. The server processes a repeated request again, even if it has
   * an Idempotency-Key.
   */
  readonly readOnly?: true;
  /** The field with a secret. In the response to a repeated request, this field is null. */
  readonly shownOnce?: string;
  /** An event of the stream that the route returns. The server does not store streams for repeated requests. */
  readonly stream?: z.ZodType;
}

export const inAgent = z.object({ agent_id: Uuid });
export const inSession = z.object({ agent_id: Uuid.optional(), session_id: Uuid });
export const inRun = inSession.extend({ run_id: Uuid });
export const session = { underAgent: true, params: inSession } as const;
export const run = { underAgent: true, params: inRun } as const;

/** Returns the paths of a route, including the path below an agent. */
export function pathsOf(route: Route): readonly string[] {
  return route.underAgent ? [route.path, route.path.replace("/v1/", "/v1/agents/{agent_id}/")] : [route.path];
}
