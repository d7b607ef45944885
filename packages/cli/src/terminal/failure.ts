import { isKnownError } from "@skein/protocol";
import { CommandError, EXIT } from "./exit-codes.ts";
import { fileSentence, isFileError } from "./file-error.ts";

/** What an error that is no command's own means for whoever called it; undefined for a bug of ours. */
export function failureOf(error: unknown): CommandError | undefined {
  if (isKnownError(error, "not_found")) return new CommandError(EXIT.notFound, error.message);
  if (isKnownError(error, "invalid", "too_large")) return new CommandError(EXIT.usage, error.message);
  if (isKnownError(error, "not_running", "not_awaiting", "conflict", "already_exists", "archived"))
    return new CommandError(EXIT.failed, error.message);
  if (isKnownError(error)) return new CommandError(EXIT.io, error.message);
  return isFileError(error) ? new CommandError(EXIT.io, fileSentence(error)) : undefined;
}
