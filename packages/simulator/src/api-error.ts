import type { JsonObject } from "./wire.ts";

const TYPES: Readonly<Record<number, readonly [type: string, message: string]>> = {
  400: ["invalid_request_error", "Invalid request"],
  401: ["authentication_error", "invalid x-api-key"],
  402: ["billing_error", "Your credit balance is too low to access the API."],
  403: ["permission_error", "Your API key does not have permission to use the specified resource."],
  404: ["not_found_error", "Not found"],
  405: ["invalid_request_error", "Method Not Allowed"],
  409: ["conflict_error", "Conflict"],
  413: ["request_too_large", "Request exceeds the maximum size"],
  429: ["rate_limit_error", "This request would exceed your account's rate limit. Please try again later."],
  500: ["api_error", "Internal server error"],
  504: ["timeout_error", "Request timed out"],
  529: ["overloaded_error", "Overloaded"],
};

export interface ApiErrorOptions {
  readonly type?: string | undefined;
  readonly message?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** More fields beside type and message, such as `error_code`, which the SDK shows as `errorCode`. */
  readonly details?: JsonObject | undefined;
  /** The error code, in OpenAI's APIs. */
  readonly code?: string | undefined;
  /** The wrong parameter, in OpenAI's APIs. */
  readonly param?: string | undefined;
}

/** An error with the status, the type and the message that the API would send. */
export class ApiError extends Error {
  readonly status: number;
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly details: JsonObject | undefined;
  readonly code: string | undefined;
  readonly param: string | undefined;
  /** The type, if a script requested one. Undefined if the dialect chooses the type. */
  readonly givenType: string | undefined;
  /** The message, if a script requested one. */
  readonly givenMessage: string | undefined;

  constructor(status: number, options: ApiErrorOptions = {}) {
    const [type, message] = TYPES[status] ?? [status < 500 ? "invalid_request_error" : "api_error", `Status ${status}`];
    super(options.message ?? message);
    this.name = "ApiError";
    this.status = status;
    this.type = options.type ?? type;
    this.headers = options.headers ?? {};
    this.details = options.details;
    this.code = options.code;
    this.param = options.param;
    this.givenType = options.type;
    this.givenMessage = options.message;
  }
}

/** Makes an error with status 400 in the words of the API: the place in the body, then what is wrong. */
export function invalid(where: string, what: string): ApiError {
  return new ApiError(400, { message: where === "" ? what : `${where}: ${what}` });
}

/** Returns the body of an error, for a whole answer or for an event of a stream. */
export function errorBody(
  error: { type: string; message: string; details?: JsonObject | undefined },
  id: string,
): string {
  const { type, message, details } = error;
  return JSON.stringify({ type: "error", error: { type, message, ...(details && { details }) }, request_id: id });
}
