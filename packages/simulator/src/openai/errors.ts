/** Errors in OpenAI's shape: a sentence, a type, the parameter and a code. */
import { ApiError } from "../api-error.ts";
import type { JsonObject } from "../wire.ts";

const TYPES: Readonly<Record<number, readonly [type: string, code: string | null, message: string]>> = {
  401: ["invalid_request_error", "invalid_api_key", "Incorrect API key provided."],
  403: ["invalid_request_error", "unsupported_country_region_territory", "You are not allowed to use this model."],
  404: ["invalid_request_error", "not_found", "Not found"],
  429: ["requests", "rate_limit_exceeded", "Rate limit reached for requests. Please try again later."],
  500: ["server_error", null, "The server had an error while processing your request. Sorry about that!"],
  503: ["service_unavailable_error", null, "The engine is currently overloaded, please try again later."],
};

/** Makes an error with status 400 that names the wrong parameter. */
export function refused(message: string, param?: string, code?: string): ApiError {
  return new ApiError(400, { message, param, code });
}

export function missing(param: string): ApiError {
  return refused(`Missing required parameter: '${param}'.`, param, "missing_required_parameter");
}

export function wrongType(param: string, expected: string, value: unknown): ApiError {
  const message = `Invalid type for '${param}': expected ${expected}, but got ${nameOf(value)} instead.`;
  return refused(message, param, "invalid_type");
}

export function wrongValue(param: string, value: unknown, supported: readonly string[]): ApiError {
  const list = supported.map((each) => `'${each}'`).join(", ");
  return refused(`Invalid value: '${String(value)}'. Supported values are: ${list}.`, param, "invalid_value");
}

/** The value of the field `error`, in an answer and in a stream. */
export function errorOf(error: ApiError): JsonObject {
  const overloaded = error.status === 529 ? 503 : error.status;
  const [type, code, message] = TYPES[overloaded] ?? ["invalid_request_error", null, error.message];
  // In OpenAI's API, an exhausted quota has the same word as type and code.
  const givenCode = error.code ?? (error.givenType === "insufficient_quota" ? error.givenType : undefined);
  return {
    message: error.givenMessage ?? message,
    type: error.givenType ?? type,
    param: error.param ?? null,
    code: givenCode ?? code,
  };
}

export function errorBody(error: ApiError): string {
  return JSON.stringify({ error: errorOf(error) });
}

function nameOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return Number.isInteger(value) ? "an integer" : "a decimal";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
