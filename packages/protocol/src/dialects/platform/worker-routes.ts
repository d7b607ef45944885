import { z } from "zod";
import { type Route, inSession } from "./route.ts";
import { PageQuery, pageOf } from "./page.ts";
import { ApiParkedSession, ApiWorker, Placement } from "./worker-shapes.ts";

/** The workers, and the sessions that no worker can drive. */
export const workerRoutes = {
  listWorkers: {
    method: "GET",
    path: "/v1/workers",
    scope: "admin",
    summary: "The processes that drive sessions, and what they have",
    status: 200,
    response: z.object({ data: z.array(ApiWorker) }),
  },
  getPlacement: {
    method: "GET",
    path: "/v1/sessions/{session_id}/placement",
    scope: "read",
    summary: "Which workers can drive this session, and what the others lack",
    params: inSession,
    status: 200,
    response: Placement,
  },
  listParked: {
    method: "GET",
    path: "/v1/parked-sessions",
    scope: "read",
    summary: "Sessions that failed on every worker and are not run again until they are retried",
    query: PageQuery,
    status: 200,
    response: pageOf(ApiParkedSession),
  },
  retryParked: {
    method: "POST",
    path: "/v1/parked-sessions/{session_id}/retry",
    scope: "run",
    summary: "Drive a session again that was set aside",
    params: inSession,
    status: 204,
  },
  discardParked: {
    method: "DELETE",
    path: "/v1/parked-sessions/{session_id}",
    scope: "run",
    summary: "Leave a session asleep that was set aside; its log stays",
    params: inSession,
    status: 204,
  },
} as const satisfies Record<string, Route>;
