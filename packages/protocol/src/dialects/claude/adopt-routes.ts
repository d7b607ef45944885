import { z } from "zod";
import type { Route } from "../platform/route.ts";
import { Uuid } from "../../ids.ts";
import { SessionResponse } from "./responses.ts";

/** Matches the path of a session's file, relative to Claude Code's data directory. */
const NAMES =
  /^(?:projects\/[A-Za-z0-9-]{1,220}\/[0-9a-f-]{36}(?:\.jsonl|\/subagents(?:\/[A-Za-z0-9_-]{1,100}){1,5}(?:\.jsonl|\.meta\.json)|\/tool-results\/[A-Za-z0-9_-]{1,200}\.(?:txt|json))|file-history\/[0-9a-f-]{36}\/[A-Za-z0-9_-]{1,100}@v\d{1,9})$/;

/** A file of Claude Code's data directory. */
export const ClaudeFile = z.strictObject({
  path: z.string().regex(NAMES, "Expected the path of a transcript, as in the export of a session."),
  content: z.string(),
  /** Files in `file-history` may contain any bytes, so they need base64. */
  encoding: z.enum(["utf8", "base64"]).default("utf8"),
});
export type ClaudeFile = z.infer<typeof ClaudeFile>;

const Files = z.array(ClaudeFile).min(1).max(5000);

/** Routes that adopt a session from Claude Code's files, and that export a session to such files. */
export const adoptRoutes = {
  adoptClaudeSession: {
    method: "POST",
    path: "/api/v1/sessions/adopt",
    scope: "admin",
    summary: "Adopt a session of Claude Code from its files, with the same id",
    body: z.strictObject({ files: Files }),
    status: 201,
    response: SessionResponse,
  },
  exportClaudeSession: {
    method: "GET",
    path: "/api/v1/sessions/{session_id}/export",
    scope: "read",
    summary: "Get the files from which Claude Code can resume the session",
    params: z.object({ session_id: Uuid }),
    status: 200,
    response: z.object({ session_id: z.string(), files: z.array(ClaudeFile) }),
  },
} as const satisfies Record<string, Route>;
