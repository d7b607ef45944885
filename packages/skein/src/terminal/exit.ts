import { isKnownError } from "@skein/protocol";
import { EXIT, UsageError } from "./exit-codes.ts";
import { fileSentence, isFileError } from "./file-error.ts";

export { EXIT, UsageError };

/** What an error means for whoever called a command; undefined for a bug of ours. */
export function failureOf(error: unknown): { readonly exitCode: number; readonly message: string } | undefined {
  if (error instanceof UsageError) return { exitCode: EXIT.usage, message: error.message };
  if (isKnownError(error, "not_found")) return { exitCode: EXIT.notFound, message: error.message };
  if (isKnownError(error, "invalid", "too_large")) return { exitCode: EXIT.usage, message: error.message };
  if (isKnownError(error, "not_running", "not_awaiting", "conflict"))
    return { exitCode: EXIT.failed, message: error.message };
  if (isKnownError(error)) return { exitCode: EXIT.io, message: error.message };
  if (isFileError(error)) return { exitCode: EXIT.io, message: fileSentence(error) };
  return undefined;
}
