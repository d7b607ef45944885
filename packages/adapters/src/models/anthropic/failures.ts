import { APIConnectionError, APIError, APIUserAbortError } from "@anthropic-ai/sdk";
import { ModelFailure } from "@skein/core";

/** What the model's API says in the middle of a stream instead of going on with it. */
export function errorEvent(data: string): ModelFailure {
  const { error } = JSON.parse(data) as { error?: { type?: string; message?: string } };
  const code = codeOf(error?.message) ?? error?.type ?? "api_error";
  return new ModelFailure(
    { code, message: error?.message ?? "The model's answer ended with an error." },
    { retryable: isRetryable(undefined, code) },
  );
}

/** What went wrong, as a fact can tell it. Nothing of our own key or headers is in it. */
export function asFailure(error: unknown): unknown {
  if (error instanceof ModelFailure || error instanceof APIUserAbortError) return error;
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
      { retryable: isRetryable(status, code), retryAfterMs: retryAfter(error.headers) },
    );
  }
  // A stream that is no stream: the body ended, or was not what it should be.
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

/** Refusals that the loop can do something about, which the API tells apart by their sentence alone. */
function codeOf(message: string | undefined): string | undefined {
  if (/prompt is too long|context window|context limit/i.test(message ?? "")) return "context_window_exceeded";
  if (/credit balance|usage limits/i.test(message ?? "")) return "billing_error";
  return /container\b.*\b(?:expired|not found|does not exist)/i.test(message ?? "") ? "container_gone" : undefined;
}

function isRetryable(status: number | undefined, code: string): boolean {
  // Asked again without it, the model gets a new one.
  if (code === "container_gone") return true;
  if (status === undefined) return code === "overloaded_error" || code === "api_error" || code === "rate_limit_error";
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

function retryAfter(headers: Headers | undefined): number | undefined {
  const seconds = Number(headers?.get("retry-after"));
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}
