import { isKnownError } from "@skein/protocol";
import { SkeinError } from "@skein/client";
import { CommandError, EXIT } from "./exit-codes.ts";
import { fileSentence, isFileError } from "./file-error.ts";

/**
 * Turns a `KnownError`, an error response of a server or an error about a file into a command error. Any other error is
 * a bug: the result is undefined.
 */
export function failureOf(error: unknown): CommandError | undefined {
  if (isKnownError(error, "not_found")) return new CommandError(EXIT.notFound, error.message);
  if (isKnownError(error, "invalid", "too_large")) return new CommandError(EXIT.usage, error.message);
  if (isKnownError(error, "not_running", "not_awaiting", "conflict", "already_exists", "archived"))
    return new CommandError(EXIT.failed, error.message);
  if (isKnownError(error)) return new CommandError(EXIT.io, error.message);
  if (error instanceof SkeinError) return failureOfServer(error);
  return isFileError(error) ? new CommandError(EXIT.io, fileSentence(error)) : undefined;
}

/** Turns an error response of a server into a command error. */
function failureOfServer({ status, message }: SkeinError): CommandError {
  if (status === 404) return new CommandError(EXIT.notFound, message);
  if (status === 400 || status === 413 || status === 422) return new CommandError(EXIT.usage, message);
  if (status === 409) return new CommandError(EXIT.failed, message);
  if (status !== 401 && status !== 403) return new CommandError(EXIT.io, message);
  return new CommandError(EXIT.failed, `${message} Set SKEIN_API_KEY to a key that may do this on the server.`);
}
