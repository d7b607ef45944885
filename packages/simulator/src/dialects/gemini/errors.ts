/** Errors in Google's shape: the status as a number and as a word, and the time to wait as a detail. */
import { ApiError } from "../../api-error.ts";

const STATUS: Readonly<Record<number, readonly [status: string, message: string]>> = {
  400: ["INVALID_ARGUMENT", "Request contains an invalid argument."],
  401: ["UNAUTHENTICATED", "Request had invalid authentication credentials."],
  403: ["PERMISSION_DENIED", "The caller does not have permission."],
  404: ["NOT_FOUND", "The requested entity was not found."],
  429: ["RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."],
  500: ["INTERNAL", "An internal error has occurred."],
  503: ["UNAVAILABLE", "The model is overloaded. Please try again later."],
  504: ["DEADLINE_EXCEEDED", "The request timed out."],
};

export function refused(message: string): ApiError {
  return new ApiError(400, { message });
}

export function errorBody(error: ApiError): string {
  const code = error.status === 529 ? 503 : error.status;
  const [status, usual] = STATUS[code] ?? [code < 500 ? "INVALID_ARGUMENT" : "INTERNAL", error.message];
  const after = error.headers["retry-after"];
  const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${after}s` };
  return JSON.stringify({
    error: {
      code,
      message: error.givenMessage ?? usual,
      status: error.givenType ?? status,
      ...(after !== undefined && { details: [retry] }),
    },
  });
}
