import { APIConnectionError, APIError, APIUserAbortError } from "@anthropic-ai/sdk";
import { ModelFailure, parsedOrUndefined } from "@skein/core";
import { cutStream, isBroken, rejection, retryAfterOf } from "../failures-of-openai.ts";
import type { Answer } from "../http-request.ts";

/** Converts an error in the middle of a stream to a failure. */
export function errorEvent(data: string): ModelFailure {
  const { error: told } = JSON.parse(data) as { error?: string | { type?: string; message?: string } };
  const error = typeof told === "string" ? { type: undefined, message: told } : told;
  const type = error?.type ?? "api_error";
  const code = codeOf(error?.message) ?? OF_BEDROCK[type] ?? type;
  return new ModelFailure(
    { code, message: error?.message ?? "The model's answer ended with an error." },
    { retryable: isRetryable(undefined, code) },
  );
}

/** The codes for errors that Bedrock sends in the middle of a stream. */
const OF_BEDROCK: Readonly<Record<string, string>> = {
  internalServerException: "api_error",
  modelStreamErrorException: "api_error",
  modelTimeoutException: "api_error",
  serviceUnavailableException: "overloaded_error",
  throttlingException: "rate_limit_error",
  validationException: "invalid_request_error",
};

/**
 * Converts the error of a rejected request to a failure. The error comes from the Messages API, from a cloud, or from a
 * gateway. If AWS's access rules reject a request, the error has `Message` instead of `message`. Servers in Python may
 * send `detail` instead.
 */
export function rejectedMessages({ status, headers }: Answer, text: string): ModelFailure {
  const said = firstOf(parsedOrUndefined(text)) as
    | { message?: unknown; Message?: unknown; detail?: unknown; error?: { type?: unknown; message?: unknown } }
    | undefined;
  const told = [said?.error?.message, said?.error, said?.message, said?.Message, said?.detail].find(
    (each) => typeof each === "string" && each !== "",
  );
  const message = (told as string | undefined) ?? rejection(status, headers, text);
  const type = said?.error?.type;
  const code = codeOf(message) ?? CODES[status] ?? (typeof type === "string" ? type : codeOfStatus(status));
  return new ModelFailure(
    { code, message, status },
    { retryable: isRetryable(status, code), retryAfterMs: retryAfterOf(headers) },
  );
}

/** Google wraps some errors in a list. */
function firstOf(said: unknown): unknown {
  return Array.isArray(said) ? said[0] : said;
}

/** The error codes by HTTP status. A status means the same at every gateway, but the error types of gateways differ. */
const CODES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
};

function codeOfStatus(status: number): string {
  if (status === 503) return "overloaded_error";
  return status < 500 ? "invalid_request_error" : "api_error";
}

/** Converts an error to a failure for the log. The failure contains neither the API key nor the request headers. */
export function asFailure(error: unknown): unknown {
  if (error instanceof ModelFailure || error instanceof APIUserAbortError) return error;
  // The official clients of clouds wrap the error of `cloudFetch`.
  if (error instanceof Error && error.cause instanceof ModelFailure) return error.cause;
  if (error instanceof APIConnectionError)
    return new ModelFailure(
      { code: "connection_error", message: "The model could not be reached, or the connection broke." },
      { retryable: true },
    );
  if (error instanceof APIError) {
    const body = error.error as { error?: { type?: string; message?: string } } | undefined;
    const { status } = error as { status?: number };
    const code = codeOf(body?.error?.message) ?? body?.error?.type ?? "api_error";
    return new ModelFailure(
      { code, message: body?.error?.message ?? error.message, ...(status !== undefined && { status }) },
      { retryable: isRetryable(status, code), retryAfterMs: error.headers && retryAfterOf(error.headers) },
    );
  }
  if (isBroken(error)) return cutStream();
  // These errors mean that the body was not a stream.
  if (
    error instanceof Error &&
    (error.name === "TypeError" || error.name === "SyntaxError" || error.name === "AnthropicError")
  )
    return new ModelFailure(
      { code: "stream_broken", message: `The model's answer could not be read: ${error.message}` },
      { retryable: true },
    );
  return error;
}

/**
 * Returns a code for the errors that the loop handles in a special way. The API names the kind of these errors only in
 * the message.
 */
function codeOf(message: string | undefined): string | undefined {
  if (/prompt is too long|input is too long|context window|context limit/i.test(message ?? ""))
    return "context_window_exceeded";
  if (/credit balance|usage limits/i.test(message ?? "")) return "billing_error";
  return /container\b.*\b(?:expired|not found|does not exist)/i.test(message ?? "") ? "container_gone" : undefined;
}

function isRetryable(status: number | undefined, code: string): boolean {
  // The retry omits the container and so gets a new container.
  if (code === "container_gone") return true;
  if (status === undefined) return code === "overloaded_error" || code === "api_error" || code === "rate_limit_error";
  return status === 408 || status === 409 || status === 429 || status >= 500;
}
