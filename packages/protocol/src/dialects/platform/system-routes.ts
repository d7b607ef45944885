import { z } from "zod";
import { type Route } from "./route.ts";
import { Health } from "./health-shapes.ts";
import { AnyObject } from "./page.ts";
import { ToolUsageQuery, ToolUsageRow, UsageQuery, UsageRow } from "./run-shapes.ts";

/** Routes for health, documents and usage of the server. */
export const systemRoutes = {
  health: {
    method: "GET",
    path: "/health",
    scope: "open",
    summary: "Get the health of the server. With a key, the response has the health of each dependency",
    status: 200,
    statusWhenFailing: 503,
    response: Health,
  },
  ready: {
    method: "GET",
    path: "/ready",
    scope: "open",
    summary: "Check whether the server accepts requests",
    status: 200,
    response: z.object({ status: z.literal("ready") }),
  },
  home: { method: "GET", path: "/", scope: "open", summary: "Get the home page", status: 200, produces: ["text/html"] },
  homeScript: {
    method: "GET",
    path: "/assets/home.js",
    scope: "open",
    summary: "Get a file of the home page",
    status: 200,
    produces: ["text/javascript"],
  },
  homeStyle: {
    method: "GET",
    path: "/assets/home.css",
    scope: "open",
    summary: "Get a file of the home page",
    status: 200,
    produces: ["text/css"],
  },
  openapi: {
    method: "GET",
    path: "/openapi.json",
    scope: "read",
    summary: "Get this description as OpenAPI 3.1",
    status: 200,
    response: AnyObject,
  },
  docs: {
    method: "GET",
    path: "/docs",
    scope: "read",
    summary: "Get the API reference as a page",
    status: 200,
    produces: ["text/html"],
  },
  metrics: {
    method: "GET",
    path: "/metrics",
    scope: "read",
    summary: "Get metrics in Prometheus format",
    status: 200,
    produces: ["text/plain"],
  },
  usage: {
    method: "GET",
    path: "/v1/usage",
    scope: "read",
    summary: "Get tokens and cost by day, model, agent, session, project or key, or by two of these",
    query: UsageQuery,
    status: 200,
    response: z.object({ data: z.array(UsageRow) }),
  },
  toolUsage: {
    method: "GET",
    path: "/v1/usage/tools",
    scope: "read",
    summary: "Count all tool calls, failed calls and calls with unknown effect, by day and tool",
    query: ToolUsageQuery,
    status: 200,
    response: z.object({ data: z.array(ToolUsageRow) }),
  },
} as const satisfies Record<string, Route>;
