import { z } from "zod";
import { Uuid } from "../../ids.ts";

/** Who may call: anyone, or a key with this scope (run and sql may do what read may, and admin everything). */
export type Scope = "open" | "read" | "run" | "sql" | "admin";

export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** The path, with `{name}` for each parameter. */
  readonly path: string;
  readonly scope: Scope;
  readonly summary: string;
  /** Also available under `/v1/agents/{agent_id}`, where the session must belong to that agent. */
  readonly underAgent?: true;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly status: 200 | 201 | 202 | 204;
  /** If the server cannot serve requests, the same body is sent with this status. */
  readonly statusWhenFailing?: 503;
  /** The body of a successful answer; undefined if it has none. */
  readonly response?: z.ZodType;
  /** Content types other than JSON that the route can answer with. */
  readonly produces?: readonly string[];
  /**
   * A POST that stores nothing, such as SQL or a login. A repeated request is processed again, with or without an
   * Idempotency-Key.
   */
  readonly readOnly?: true;
  /** The field of the answer that has a secret. If the same request is sent again, the field is null. */
  readonly shownOnce?: string;
  /** One event of the stream that the route answers with. Such an answer is not stored for repeated requests. */
  readonly stream?: z.ZodType;
}

export const inAgent = z.object({ agent_id: Uuid });
export const inSession = z.object({ agent_id: Uuid.optional(), session_id: Uuid });
export const inRun = inSession.extend({ run_id: Uuid });
export const session = { underAgent: true, params: inSession } as const;
export const run = { underAgent: true, params: inRun } as const;

/** The paths of a route: its own path, and the path below an agent. */
export function pathsOf(route: Route): readonly string[] {
  return route.underAgent ? [route.path, route.path.replace("/v1/", "/v1/agents/{agent_id}/")] : [route.path];
}
