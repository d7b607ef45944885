import { z } from "zod";
import {
  HistoryDetails,
  HistoryFile,
  HistoryFrame,
  HistoryMatches,
  HistoryMessageQuery,
  HistoryMessages,
  HistoryPage,
  HistoryQuery,
  HistorySearchQuery,
  HistoryUsageQuery,
  HistoryUsageRow,
  OfAgent,
} from "./history-shapes.ts";
import type { Route } from "./route.ts";
import { ApiSession } from "./session-shapes.ts";

const inHistory = z.object({ session_id: z.string().regex(/^[0-9A-Za-z_-]{1,100}$/, "Expected the id of a session.") });

/**
 * Routes for the sessions of Claude Code and other coding agents on this machine. The operator chooses the folders, and
 * the API keys that may read them.
 */
export const historyRoutes = {
  listHistorySessions: {
    method: "GET",
    path: "/v1/history/sessions",
    scope: "read",
    summary: "List the sessions of Claude Code and other agents on this machine, last active first",
    query: HistoryQuery,
    status: 200,
    response: HistoryPage,
  },
  getHistorySession: {
    method: "GET",
    path: "/v1/history/sessions/{session_id}",
    scope: "read",
    summary: "Get a session of a coding agent with its branches",
    params: inHistory,
    query: OfAgent,
    status: 200,
    response: HistoryDetails,
  },
  listHistoryMessages: {
    method: "GET",
    path: "/v1/history/sessions/{session_id}/messages",
    scope: "read",
    summary: "List the messages of a transcript, oldest first. Without a position, this is the last page",
    params: inHistory,
    query: HistoryMessageQuery,
    status: 200,
    response: HistoryMessages,
  },
  getHistoryLine: {
    method: "GET",
    path: "/v1/history/sessions/{session_id}/lines/{offset}",
    scope: "read",
    summary: "Get one line of a transcript, unchanged",
    params: inHistory.extend({ offset: z.coerce.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER) }),
    query: OfAgent.extend({ agent_id: HistoryMessageQuery.shape.agent_id }),
    status: 200,
    produces: ["application/octet-stream"],
  },
  searchHistory: {
    method: "GET",
    path: "/v1/history/search",
    scope: "read",
    summary: "Search prompts, answers, tool calls and results in the agents' sessions, best matches first",
    query: HistorySearchQuery,
    status: 200,
    response: HistoryMatches,
  },
  getHistoryUsage: {
    method: "GET",
    path: "/v1/history/usage",
    scope: "read",
    summary:
      "Get tokens and cost of the agents' sessions by day, model, project, session, agent, tool or five-hour block",
    query: HistoryUsageQuery,
    status: 200,
    response: z.object({ data: z.array(HistoryUsageRow) }),
  },
  listHistoryFiles: {
    method: "GET",
    path: "/v1/history/sessions/{session_id}/files",
    scope: "read",
    summary: "List the files that a session changed, with a copy from before each change",
    params: inHistory,
    query: OfAgent,
    status: 200,
    response: z.object({ data: z.array(HistoryFile) }),
  },
  getHistoryFile: {
    method: "GET",
    path: "/v1/history/sessions/{session_id}/files/content",
    scope: "read",
    summary: "Get a file as it was before a change",
    params: inHistory,
    query: OfAgent.extend({
      path: z.string().min(1).max(4000),
      version: z.coerce.number().int().nonnegative().max(1_000_000),
    }),
    status: 200,
    produces: ["application/octet-stream"],
  },
  exportHistorySession: {
    method: "GET",
    path: "/v1/history/sessions/{session_id}/export",
    scope: "read",
    summary: "Export a session of a coding agent as a page, Markdown or JSON",
    params: inHistory,
    query: OfAgent.extend({ format: z.enum(["html", "markdown", "json"]).default("html") }),
    status: 200,
    produces: ["application/octet-stream"],
  },
  adoptHistorySession: {
    method: "POST",
    path: "/v1/history/sessions/{session_id}/adopt",
    scope: "admin",
    summary: "Adopt a session of a coding agent. The new session has the same content and id",
    params: inHistory,
    query: OfAgent,
    status: 201,
    response: ApiSession,
  },
  streamHistory: {
    method: "GET",
    path: "/v1/history/events",
    scope: "read",
    summary: "Stream the changes of the coding agents' sessions",
    status: 200,
    produces: ["text/event-stream"],
    stream: HistoryFrame,
  },
} as const satisfies Record<string, Route>;
