import { z } from "zod";
import { Run, RunModel } from "../../session.ts";
import { CostBreakdown } from "../../usage.ts";
import { type Route, inRun, run, session } from "./route.ts";
import { PageQuery, pageOf } from "./page.ts";
import { ApiRun, ApiRunWithMessages, ApiStep, RunLog, SentRequest } from "./run-shapes.ts";

/** Runs of a session. */
export const runRoutes = {
  listRuns: {
    ...session,
    method: "GET",
    path: "/v1/sessions/{session_id}/runs",
    scope: "read",
    summary: "List runs, newest first",
    query: PageQuery,
    status: 200,
    response: pageOf(ApiRun),
  },
  getRun: {
    ...run,
    method: "GET",
    path: "/v1/sessions/{session_id}/runs/{run_id}",
    scope: "read",
    summary: "Get a run with its messages",
    status: 200,
    response: ApiRunWithMessages,
  },
  getRunLogs: {
    ...run,
    method: "GET",
    path: "/v1/sessions/{session_id}/runs/{run_id}/logs",
    scope: "read",
    summary: "List the run's actions with the names of the agent tables",
    status: 200,
    response: z.object({ data: z.array(RunLog) }),
  },
  getRunCost: {
    ...run,
    method: "GET",
    path: "/v1/sessions/{session_id}/runs/{run_id}/cost",
    scope: "read",
    summary: "Get the cost of the run, in total and by model",
    status: 200,
    response: z.object({
      cost: CostBreakdown.nullable(),
      cost_micros: Run.shape.cost_micros,
      cost_picos: Run.shape.cost_picos,
      unpriced_calls: z.int(),
      estimated: z.boolean(),
      reserved_micros: Run.shape.reserved_micros,
      simulated: z.boolean(),
      models: z.array(RunModel),
    }),
  },
  streamRunText: {
    ...run,
    method: "GET",
    path: "/v1/sessions/{session_id}/runs/{run_id}/text",
    scope: "read",
    summary: "Stream the run as text in the agent's format, or in another format. Each frame is one `data:` line",
    query: z.strictObject({ format: z.enum(["json", "xml", "raw"]).optional() }),
    status: 200,
    produces: ["text/event-stream"],
  },
  listSteps: {
    ...session,
    method: "GET",
    path: "/v1/sessions/{session_id}/steps",
    scope: "read",
    summary: "List the model calls with their attempts, oldest first",
    query: PageQuery,
    status: 200,
    response: pageOf(ApiStep),
  },
  getRunStep: {
    ...run,
    method: "GET",
    path: "/v1/sessions/{session_id}/runs/{run_id}/steps/{step}",
    scope: "read",
    summary: "Get the requests to the model at one step",
    params: inRun.extend({ step: z.coerce.number().int().nonnegative().max(100_000) }),
    query: z.strictObject({ attempt: z.coerce.number().int().positive().max(100_000).optional() }),
    status: 200,
    response: z.object({ data: z.array(SentRequest) }),
  },
} as const satisfies Record<string, Route>;
