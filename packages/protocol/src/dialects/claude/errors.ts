import { z } from "zod";

/** The error codes of the Claude API. `/api/v1` uses these codes instead of the codes of `/v1`. */
export const ClaudeErrorCode = z.enum([
  "AUTHENTICATION_ERROR",
  "RATE_LIMIT_EXCEEDED",
  "VALIDATION_ERROR",
  "SESSION_NOT_FOUND",
  /** Another run of the session is in progress. */
  "SESSION_LOCKED",
  "ALREADY_EXISTS",
  "CHECKPOINT_NOT_FOUND",
  /** The checkpoint exists, but its files cannot be restored. */
  "INVALID_CHECKPOINT",
  /** The run ended without an output that fits the requested format. */
  "STRUCTURED_OUTPUT_VALIDATION_ERROR",
  "DATABASE_ERROR",
  "DATABASE_UNAVAILABLE",
  /** The request reached its time limit. The run continues. */
  "REQUEST_TIMEOUT",
  /** The server is stopping, or lacks something that the request needs. */
  "SERVICE_UNAVAILABLE",
]);
export type ClaudeErrorCode = z.infer<typeof ClaudeErrorCode>;

export const CLAUDE_ERROR_STATUS: Readonly<Record<ClaudeErrorCode, number>> = {
  AUTHENTICATION_ERROR: 401,
  RATE_LIMIT_EXCEEDED: 429,
  VALIDATION_ERROR: 422,
  SESSION_NOT_FOUND: 404,
  SESSION_LOCKED: 409,
  ALREADY_EXISTS: 409,
  CHECKPOINT_NOT_FOUND: 404,
  INVALID_CHECKPOINT: 400,
  STRUCTURED_OUTPUT_VALIDATION_ERROR: 422,
  DATABASE_ERROR: 500,
  DATABASE_UNAVAILABLE: 503,
  REQUEST_TIMEOUT: 504,
  SERVICE_UNAVAILABLE: 503,
};

/** Maps error codes of `/v1` to codes of `/api/v1`. All other codes stay the same. */
export const CLAUDE_ERROR_NAMES: Readonly<Record<string, ClaudeErrorCode>> = {
  unauthorized: "AUTHENTICATION_ERROR",
  rate_limited: "RATE_LIMIT_EXCEEDED",
  invalid: "VALIDATION_ERROR",
  already_exists: "ALREADY_EXISTS",
  store_corrupt: "DATABASE_ERROR",
  store_too_new: "DATABASE_ERROR",
  unreadable: "DATABASE_ERROR",
  store_unavailable: "DATABASE_UNAVAILABLE",
  store_locked: "DATABASE_UNAVAILABLE",
  read_only: "DATABASE_UNAVAILABLE",
  closed: "SERVICE_UNAVAILABLE",
  files_unavailable: "SERVICE_UNAVAILABLE",
};
