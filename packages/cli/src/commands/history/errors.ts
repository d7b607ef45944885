import {
  type MigrateErrorCode,
  isDataNotFoundError,
  isMigrateRefusedError,
  isNotRestorableError,
  isQueryError,
  isSessionNotFoundError,
  isWorkspaceNotFoundError,
} from "@skein/history/usage";
import { CommandError, EXIT, MissingError, UsageError, dataMissing } from "../../terminal/exit-codes.ts";

/**
 * Converts an error of the history library to a command line error. Returns other errors unchanged. `everywhere`: the
 * sessions of all agents were searched.
 */
export function toCommandError(error: unknown, everywhere = false): unknown {
  if (!(error instanceof Error)) return error;
  const { message } = error;
  if (error.name === "AbortError") return new CommandError(EXIT.cancelled, "Stopped.");
  if (isQueryError(error) || error instanceof RangeError) return new UsageError(message);
  if (isNotRestorableError(error))
    return new CommandError(
      EXIT.failed,
      `${message}. The session stays in lists and can be read. "skein adopt" copies it into Skein.`,
    );
  if (isDataNotFoundError(error)) return dataMissing(error, everywhere);
  if (isSessionNotFoundError(error) || isWorkspaceNotFoundError(error)) return new MissingError(message);
  return isMigrateRefusedError(error) ? new CommandError(exitCodeOf(error.code), message) : error;
}

function exitCodeOf(code: MigrateErrorCode) {
  if (code === "same-place" || code === "inside-source") return EXIT.usage;
  return code === "unknown-migration" ? EXIT.notFound : EXIT.io;
}
