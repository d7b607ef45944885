import type { APICallError } from "@ai-sdk/provider";
import { ModelFailure } from "@skein/core";
import { brokenRequest, cutStream, isBroken, rejectedRequest, streamFailure } from "../failures-of-openai.ts";

/** Error codes for an address without a server, and for a name that does not exist. */
const NOBODY_THERE = new Set(["ECONNREFUSED", "ENOTFOUND"]);
const FEW_RETRIES = 2;

/** Converts an error of a model object to a failure for the log. Drops the request that the error contains. */
export function thrownFailure(error: unknown): unknown {
  if (!isCallError(error)) return brokenRequest(error);
  const { statusCode, responseHeaders, responseBody } = error;
  if (statusCode !== undefined && statusCode >= 400)
    return rejectedRequest(
      new Response(null, { status: statusCode, headers: headersIn(responseHeaders) }),
      responseBody ?? "",
    );
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  if (statusCode === undefined)
    return new ModelFailure(
      {
        code: "connection_error",
        message: `The model could not be reached (${typeof code === "string" ? code : "no connection"}).`,
      },
      { retryable: true, ...(NOBODY_THERE.has(String(code)) && { mostRetries: FEW_RETRIES }) },
    );
  if (isBroken(error.cause)) return cutStream();
  return new ModelFailure(
    { code: "stream_broken", message: `The model's answer could not be read: ${error.message}` },
    { retryable: true },
  );
}

/** Converts an error that ends the stream to a failure. */
export function partFailure(error: unknown): unknown {
  if (isCallError(error)) return thrownFailure(error);
  // A provider package may pass on its server's error, a JavaScript error, or a text.
  const told =
    error instanceof Error ? { message: error.message } : typeof error === "string" ? { message: error } : error;
  const failure = streamFailure((told as { readonly error?: unknown } | null)?.error ?? told);
  return new ModelFailure(failure.failure, { retryable: true });
}

/** Checks the error's name, because each provider package may have another copy of the class. */
function isCallError(error: unknown): error is APICallError {
  return error instanceof Error && error.name === "AI_APICallError";
}

function headersIn(headers: Readonly<Record<string, string>> | undefined): Record<string, string> {
  const named = ["content-type", "retry-after", "retry-after-ms"].map((name) => [name, headers?.[name]] as const);
  return Object.fromEntries(named.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
