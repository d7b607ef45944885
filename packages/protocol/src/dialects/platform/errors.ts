import { z } from "zod";
import { CLAUDE_ERROR_STATUS, ClaudeErrorCode } from "../claude/errors.ts";
import { ErrorCode } from "../../error.ts";

/** Errors of authentication and of HTTP. Only the HTTP server has these errors. */
const HttpErrorCode = z.enum([
  /** The server cannot read the request as HTTP or JSON. */
  "malformed",
  /** The complete request did not arrive in time. */
  "request_timeout",
  /** The request has no API key, or an unknown API key. */
  "unauthorized",
  /** The key lacks the scope for the request, or the request's host or origin is not allowed. */
  "forbidden",
  "method_not_allowed",
  "unsupported_media_type",
  "not_acceptable",
  /** The key has sent too many requests, or has too many streams or sessions. */
  "rate_limited",
  /** A request with the same idempotency key is in progress. */
  "in_progress",
  /** The ETag in If-Match is not the current ETag. */
  "precondition_failed",
  /** A bug in the server. The server's log has the error under the request id. */
  "internal",
]);

export const ApiErrorCode = z.enum([...ErrorCode.options, ...HttpErrorCode.options, ...ClaudeErrorCode.options]);
export type ApiErrorCode = z.infer<typeof ApiErrorCode>;

/** The HTTP status of each code. */
export const ERROR_STATUS: Readonly<Record<ApiErrorCode, number>> = {
  invalid: 422,
  not_found: 404,
  already_exists: 409,
  conflict: 409,
  lease_lost: 409,
  lease_required: 409,
  key_reused: 422,
  not_running: 409,
  not_awaiting: 409,
  archived: 409,
  too_large: 413,
  store_locked: 503,
  store_corrupt: 500,
  store_too_new: 500,
  store_unavailable: 503,
  files_unavailable: 503,
  disk_full: 507,
  read_only: 503,
  closed: 503,
  unreadable: 500,
  not_allowed: 403,
  arg_not_allowed: 403,
  url_not_allowed: 422,
  statement_failed: 422,
  over_limit: 422,
  sandbox_missing: 503,
  secret_sealed: 503,
  not_installed: 503,
  malformed: 400,
  request_timeout: 408,
  unauthorized: 401,
  forbidden: 403,
  method_not_allowed: 405,
  unsupported_media_type: 415,
  not_acceptable: 406,
  rate_limited: 429,
  in_progress: 409,
  precondition_failed: 412,
  internal: 500,
  ...CLAUDE_ERROR_STATUS,
};

/** The body of every error response, except for callers that accept `application/problem+json`. */
export const ErrorBody = z.object({
  error: z.object({
    code: ApiErrorCode,
    message: z.string(),
    details: z.record(z.string(), z.unknown()).optional(),
    request_id: z.string(),
  }),
});
export type ErrorBody = z.infer<typeof ErrorBody>;

/** An error in the format of RFC 9457, for callers that accept `application/problem+json`. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ApiErrorCode;
  readonly request_id: string;
  readonly details?: Readonly<Record<string, unknown>>;
}
