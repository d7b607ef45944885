import { z } from "zod";
import { type Route, inSession } from "./route.ts";
import { PageQuery, pageOf } from "./page.ts";
import { ApiParkedSession, ApiWorker, Placement } from "./worker-shapes.ts";

/** Routes for the workers, for the workers that suit a session, and for parked sessions. */
export const workerRoutes = {
  listWorkers: {
    method: "GET",
    path: "/v1/workers",
    scope: "admin",
    summary: "List the workers with their agents, tools, runtimes and models",
    status: 200,
    response: z.object({ data: z.array(ApiWorker) }),
  },
  getPlacement: {
    method: "GET",
    path: "/v1/sessions/{session_id}/placement",
    scope: "read",
    summary: "Get the worker that drives this session, the workers that can drive it, and what all other workers lack",
    params: inSession,
    status: 200,
    response: Placement,
  },
  listParked: {
    method: "GET",
    path: "/v1/parked-sessions",
    scope: "read",
    summary: "List parked sessions. They failed repeatedly, and wait until a person retries or discards them",
    query: PageQuery,
    status: 200,
    response: pageOf(ApiParkedSession),
  },
  retryParked: {
    method: "POST",
    path: "/v1/parked-sessions/{session_id}/retry",
    scope: "run",
    summary: "Retry a parked session",
    params: inSession,
    status: 204,
  },
  discardParked: {
    method: "DELETE",
    path: "/v1/parked-sessions/{session_id}",
    scope: "run",
    summary: "Discard a parked session. The session stays asleep until its next prompt, and keeps its log",
    params: inSession,
    status: 204,
  },
} as const satisfies Record<string, Route>;
