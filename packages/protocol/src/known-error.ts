import type { ErrorCode } from "./error.ts";

/** An error that the caller can react to. All other thrown errors are bugs. */
export class KnownError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, options: { details?: Record<string, unknown>; cause?: unknown } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = "KnownError";
    this.code = code;
    this.details = options.details;
  }
}

export function isKnownError(error: unknown, ...codes: readonly ErrorCode[]): error is KnownError {
  return error instanceof KnownError && (codes.length === 0 || codes.includes(error.code));
}
