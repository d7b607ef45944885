import {
  type MigrateErrorCode,
  isDataNotFoundError,
  isMigrateRefusedError,
  isQueryError,
  isSessionNotFoundError,
  isWorkspaceNotFoundError,
} from "@skein/history";

export const EXIT = { ok: 0, partial: 1, usage: 2, notFound: 3, io: 4, interrupted: 130 } as const;

/** The command was called wrongly: one sentence, and exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What was asked for is not there: exit code 3. */
export class NotFoundError extends Error {
  override readonly name = "NotFoundError";
}

/** Nothing could be done, for a reason that the message gives: exit code 4. */
export class FailedError extends Error {
  override readonly name = "FailedError";
}

export interface Failure {
  readonly exitCode: number;
  readonly code: "USAGE_ERROR" | "NOT_FOUND" | "IO_ERROR" | "INTERRUPTED";
  readonly message: string;
}

/** What an error means for the caller, or undefined for one that is a bug of ours. */
export function failureOf(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) return undefined;
  const { message } = error;
  if (error.name === "AbortError") return { exitCode: EXIT.interrupted, code: "INTERRUPTED", message: "Stopped." };
  if (error instanceof UsageError || isQueryError(error) || error instanceof RangeError) {
    return { exitCode: EXIT.usage, code: "USAGE_ERROR", message };
  }
  const isMissing =
    error instanceof NotFoundError ||
    isSessionNotFoundError(error) ||
    isWorkspaceNotFoundError(error) ||
    isDataNotFoundError(error);
  if (isMissing) return { exitCode: EXIT.notFound, code: "NOT_FOUND", message };
  if (isMigrateRefusedError(error)) return refusal(error.code, message);
  if (error instanceof FailedError) return { exitCode: EXIT.io, code: "IO_ERROR", message };
  if ("syscall" in error && "code" in error) return { exitCode: EXIT.io, code: "IO_ERROR", message };
  return undefined;
}

function refusal(code: MigrateErrorCode, message: string): Failure {
  if (code === "same-place" || code === "inside-source") return { exitCode: EXIT.usage, code: "USAGE_ERROR", message };
  if (code === "unknown-migration") return { exitCode: EXIT.notFound, code: "NOT_FOUND", message };
  return { exitCode: EXIT.io, code: "IO_ERROR", message };
}
