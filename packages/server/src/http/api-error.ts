import {
  type ApiErrorCode,
  CLAUDE_ERROR_NAMES,
  ERROR_STATUS,
  type ErrorBody,
  type Problem,
  isKnownError,
} from "@skein/protocol";

/** An error of the HTTP server, such as a wrong key, a limit or a malformed request. */
export class ApiError extends Error {
  readonly code: ApiErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ApiErrorCode,
    message: string,
    options: { details?: Record<string, unknown>; headers?: Record<string, string> } = {},
  ) {
    super(message);
    this.name = "ApiError";
    this.code = code;
    this.details = options.details;
    this.headers = options.headers ?? {};
  }
}

export interface ErrorAnswer {
  readonly status: number;
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the error was unexpected. The server logs unexpected errors. */
  readonly isBug: boolean;
}

/** Codes with a 5xx status that are not bugs. */
const EXPECTED: ReadonlySet<ApiErrorCode> = new Set([
  "closed",
  "sandbox_missing",
  "secret_sealed",
  "not_installed",
  "files_unavailable",
  "SERVICE_UNAVAILABLE",
  "REQUEST_TIMEOUT",
]);

/** Codes of errors that are usually temporary. A `KnownError` with such a code gets a response with Retry-After. */
const SOON_OVER: ReadonlySet<ApiErrorCode> = new Set(["store_unavailable", "files_unavailable", "closed"]);

/** Replacements for messages that could reveal the store's address or its statements. */
const STORE_TROUBLE: Readonly<Partial<Record<ApiErrorCode, string>>> = {
  store_locked: "Another process uses the store.",
  store_corrupt: "The store is damaged.",
  store_too_new: "The store was written by a newer version.",
  store_unavailable: "The store cannot be reached now. Try again later.",
  files_unavailable: "The storage of generated files cannot be reached now. Try again later.",
  disk_full: "The disk of the store is full. Make room and try again.",
  read_only: "The store cannot be written.",
  closed: "The server is stopping. Try again later.",
  unreadable: "The log has an event of a newer version, which this version cannot read.",
};

/**
 * The response for any error: a code and a sentence, without paths, SQL or stack. Under `/api/v1` codes have the Claude
 * API's names.
 */
export function errorAnswer(error: unknown, requestId: string, path = ""): ErrorAnswer {
  const { code: own, message, details, headers } = described(error);
  const code = path.startsWith("/api/v1/") ? (CLAUDE_ERROR_NAMES[own] ?? own) : own;
  return {
    status: ERROR_STATUS[code],
    headers,
    isBug: ERROR_STATUS[code] >= 500 && !EXPECTED.has(code),
    body: { error: { code, message, ...(details && { details: { ...details } }), request_id: requestId } },
  };
}

export function problemOf({ error }: ErrorBody): Problem {
  const { code, message, details, request_id } = error;
  const type = `urn:skein:error:${code}`;
  const status = ERROR_STATUS[code];
  return { type, title: code, status, detail: message, code, request_id, ...(details && { details }) };
}

interface Described {
  readonly code: ApiErrorCode;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

function described(error: unknown): Described {
  if (error instanceof ApiError) return error;
  if (isKnownError(error))
    return {
      code: error.code,
      message: STORE_TROUBLE[error.code] ?? error.message,
      details: STORE_TROUBLE[error.code] === undefined ? error.details : undefined,
      headers: SOON_OVER.has(error.code) ? { "retry-after": "1" } : {},
    };
  return httpError(error as { statusCode?: number; code?: string });
}

/** Converts a rejection by the HTTP framework to an error of this server. */
function httpError({ statusCode }: { statusCode?: number }): Described {
  const headers = {};
  if (statusCode === 413) return { code: "too_large", message: "The body is larger than this route accepts.", headers };
  if (statusCode === 415)
    return { code: "unsupported_media_type", message: "Expected a body of the type application/json.", headers };
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return { code: "malformed", message: "The request cannot be read: expected HTTP with a JSON body.", headers };
  return {
    code: "internal",
    message: "Internal error. The server's log has the details under the request id.",
    headers,
  };
}
