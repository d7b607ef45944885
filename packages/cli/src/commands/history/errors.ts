import {
  type MigrateErrorCode,
  isDataNotFoundError,
  isMigrateRefusedError,
  isQueryError,
  isSessionNotFoundError,
  isWorkspaceNotFoundError,
} from "@skein/history/usage";
import { CommandError, EXIT, MissingError, UsageError, dataMissing } from "../../terminal/exit-codes.ts";

/** An error of the library as one of the command line; any other as it is. */
export function toCommandError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { message } = error;
  if (error.name === "AbortError") return new CommandError(EXIT.cancelled, "Stopped.");
  if (isQueryError(error) || error instanceof RangeError) return new UsageError(message);
  if (isDataNotFoundError(error)) return dataMissing(error);
  if (isSessionNotFoundError(error) || isWorkspaceNotFoundError(error)) return new MissingError(message);
  return isMigrateRefusedError(error) ? new CommandError(exitCodeOf(error.code), message) : error;
}

function exitCodeOf(code: MigrateErrorCode) {
  if (code === "same-place" || code === "inside-source") return EXIT.usage;
  return code === "unknown-migration" ? EXIT.notFound : EXIT.io;
}
