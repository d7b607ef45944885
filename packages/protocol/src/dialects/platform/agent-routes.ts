import { z } from "zod";
import { Agent } from "../../agent.ts";
import { type Route, inAgent } from "./route.ts";
import { AgentInput, AgentPatch, ApiTool } from "./agent-shapes.ts";
import { PageQuery, pageOf } from "./page.ts";

export const agentRoutes = {
  createAgent: {
    method: "POST",
    path: "/v1/agents",
    scope: "admin",
    summary: "Create an agent",
    body: AgentInput,
    status: 201,
    response: Agent,
  },
  listAgents: {
    method: "GET",
    path: "/v1/agents",
    scope: "read",
    summary: "List agents, newest first",
    query: z.strictObject({
      ...PageQuery.shape,
      status: z.enum(["active", "archived"]).optional(),
      tag: z.string().min(1).max(100).optional(),
    }),
    status: 200,
    response: pageOf(Agent),
  },
  getAgent: {
    method: "GET",
    path: "/v1/agents/{agent_id}",
    scope: "read",
    summary: "Get an agent, or one version of it",
    params: inAgent,
    query: z.strictObject({ version: z.coerce.number().int().positive().optional() }),
    status: 200,
    response: Agent,
  },
  listAgentVersions: {
    method: "GET",
    path: "/v1/agents/{agent_id}/versions",
    scope: "read",
    summary: "List the versions of an agent, newest first",
    params: inAgent,
    query: PageQuery,
    status: 200,
    response: pageOf(Agent),
  },
  patchAgent: {
    method: "PATCH",
    path: "/v1/agents/{agent_id}",
    scope: "admin",
    summary: "Change an agent. This creates a new version",
    params: inAgent,
    body: AgentPatch,
    status: 200,
    response: Agent,
  },
  archiveAgent: {
    method: "DELETE",
    path: "/v1/agents/{agent_id}",
    scope: "admin",
    summary: "Archive an agent. New sessions cannot use an archived agent",
    params: inAgent,
    status: 200,
    response: Agent,
  },
  restoreAgent: {
    method: "POST",
    path: "/v1/agents/{agent_id}/restore",
    scope: "admin",
    summary: "Restore an archived agent. New sessions can use the agent again",
    params: inAgent,
    status: 200,
    response: Agent,
  },
  listTools: {
    method: "GET",
    path: "/v1/tools",
    scope: "read",
    summary: "List the tools that agents can use",
    status: 200,
    response: z.object({ data: z.array(ApiTool) }),
  },
} as const satisfies Record<string, Route>;
