import { z } from "zod";
import type { Route } from "../platform/route.ts";
import { Uuid } from "../../ids.ts";
import { PermissionMode } from "./options.ts";
import { McpServerStatus } from "./responses.ts";

/** Routes that tell a client what a new session would have, and which files a session has changed. */

const listOf = <Item extends z.ZodType>(item: Item) =>
  z.preprocess((value) => (typeof value === "string" ? [value] : value), z.array(item).max(50)).optional();

const Name = z.string().min(1).max(200);

/** Options of a new session, as query parameters. */
export const OfferQuery = z.strictObject({
  cwd: z.string().max(500).optional(),
  setting_sources: listOf(z.enum(["project", "user", "local"])),
  /** Names of plugins and MCP servers that the operator has registered. */
  plugins: listOf(Name),
  mcp_servers: listOf(Name),
});
export type OfferQuery = z.output<typeof OfferQuery>;

/** The tools, models, commands and servers of a new session with these options. */
export const ClaudeOffer = z.object({
  models: z.array(
    z.object({
      /** The value for `model` in a request. */
      name: z.string(),
      display_name: z.string(),
      description: z.string(),
      /** The model that an alias names, if it is known. */
      resolved: z.string().nullable(),
      efforts: z.array(z.string()),
    }),
  ),
  /** The model of a session whose request has no `model`. */
  default_model: z.string(),
  tools: z.array(z.string()),
  commands: z.array(z.object({ name: z.string(), description: z.string(), argument_hint: z.string() })),
  agents: z.array(z.object({ name: z.string(), description: z.string(), model: z.string().nullable() })),
  skills: z.array(z.string()),
  mcp_servers: z.array(McpServerStatus),
  plugins: z.array(z.string()),
  output_styles: z.array(z.string()),
  claude_code_version: z.string().nullable(),
});
export type ClaudeOffer = z.infer<typeof ClaudeOffer>;

/** The names that the operator allows requests to use. */
export const OpenedNames = z.object({
  folders: z.array(z.string()),
  settings: z.array(z.string()),
  plugins: z.array(z.string()),
  mcp_servers: z.array(z.string()),
  env: z.array(z.string()),
  extra_args: z.array(z.string()),
  permission_modes: z.array(PermissionMode),
});
export type OpenedNames = z.infer<typeof OpenedNames>;

/**
 * A file that the tools of a session changed. Compares the content before the first change with the content after the
 * last change.
 */
export const ChangedFile = z.object({
  path: z.string(),
  /** Only a rewind has `removed`, for a file that did not exist at the checkpoint. */
  status: z.enum(["added", "modified", "removed"]),
  /** Null if the file was too large for Claude Code to save its earlier content. */
  insertions: z.int().nonnegative().nullable(),
  deletions: z.int().nonnegative().nullable(),
  /** How often the file was changed. */
  changes: z.int().positive(),
  last_changed_at: z.iso.datetime(),
  last_tool_use_id: z.string().nullable(),
  /** In the unified format. Null if `insertions` is null. */
  diff: z.string().nullable(),
});
export type ChangedFile = z.infer<typeof ChangedFile>;

const session = { params: z.object({ session_id: Uuid }) } as const;

export const offerRoutes = {
  claudeOffer: {
    method: "GET",
    path: "/api/v1/offer",
    scope: "run",
    summary:
      "List the models, tools, commands, agents, skills and MCP servers of a new session, and the names that requests may use",
    query: OfferQuery,
    status: 200,
    response: ClaudeOffer.extend({ opened: OpenedNames }),
  },
  listChangedFiles: {
    ...session,
    method: "GET",
    path: "/api/v1/sessions/{session_id}/files",
    scope: "read",
    summary: "List the files that a session's tools have changed, without their diffs",
    status: 200,
    response: z.object({ files: z.array(ChangedFile.omit({ diff: true })) }),
  },
  getFileDiff: {
    ...session,
    method: "GET",
    path: "/api/v1/sessions/{session_id}/files/diff",
    scope: "read",
    summary:
      "Get the unified diffs of the files that a session has changed. `path` selects one file; `rewind_to` shows what a rewind to a checkpoint would change",
    query: z.strictObject({
      path: z.string().min(1).max(4096).optional(),
      rewind_to: z.string().min(1).max(100).optional(),
    }),
    status: 200,
    response: z.object({ files: z.array(ChangedFile) }),
  },
} as const satisfies Record<string, Route>;
