import type { z } from "zod";
import { adoptRoutes } from "../claude/adopt-routes.ts";
import { offerRoutes } from "../claude/offer-routes.ts";
import { claudeRoutes } from "../claude/routes.ts";
import { agentRoutes } from "./agent-routes.ts";
import { auditRoutes } from "./audit-routes.ts";
import { historyRoutes } from "./history-routes.ts";
import { keyRoutes } from "./key-routes.ts";
import { loginRoutes } from "./login-routes.ts";
import { modelRoutes } from "./model-routes.ts";
import { runRoutes } from "./run-routes.ts";
import { sessionRoutes } from "./session-routes.ts";
import { sqlRoutes } from "./sql-routes.ts";
import { systemRoutes } from "./system-routes.ts";
import { webhookRoutes } from "./webhook-routes.ts";
import { workerRoutes } from "./worker-routes.ts";

/**
 * Every route of the server: the platform API and the Claude API. The OpenAPI document and the client are generated
 * from this list. Reasons: decision 060 in docs/decisions.
 */
export const ROUTES = {
  ...systemRoutes,
  ...loginRoutes,
  ...keyRoutes,
  ...auditRoutes,
  ...agentRoutes,
  ...modelRoutes,
  ...sessionRoutes,
  ...runRoutes,
  ...sqlRoutes,
  ...historyRoutes,
  ...webhookRoutes,
  ...workerRoutes,
  ...claudeRoutes,
  ...adoptRoutes,
  ...offerRoutes,
};
export type RouteName = keyof typeof ROUTES;

type Part<Name extends RouteName, Key extends string> =
  (typeof ROUTES)[Name] extends Readonly<Record<Key, infer Type>> ? Type : undefined;
type Output<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;
type Input<Schema> = Schema extends z.ZodType ? z.input<Schema> : undefined;

/** The parsed input that the handler of a route receives. */
export interface ParsedRequest<Name extends RouteName> {
  readonly params: Output<Part<Name, "params">>;
  readonly query: Output<Part<Name, "query">>;
  readonly body: Output<Part<Name, "body">>;
}

/** The input that a caller passes to a route. */
export interface RouteInput<Name extends RouteName> {
  readonly params: Input<Part<Name, "params">>;
  readonly query: Input<Part<Name, "query">>;
  readonly body: Input<Part<Name, "body">>;
}

/** The body of a route's successful response. */
export type RouteOutput<Name extends RouteName> = Output<Part<Name, "response">>;
