import { type ErrorCode, KnownError, isKnownError } from "@skein/protocol";

/** SQLSTATEs and socket error codes for a server that cannot be reached now. */
const UNREACHABLE =
  /^(08...|57P0[1-4]|53300|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOENT)$/;
/** Messages of errors of `pg` without a code, for a connection that ended or could not be opened in time. */
const ENDED =
  /^(Connection terminated|Query read timeout|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error|Client was closed)/;

/** A serialization failure and a deadlock. */
const UNDONE = new Set(["40001", "40P01"]);

/**
 * Whether PostgreSQL rolled the transaction back because of a conflict with another transaction. Nothing was stored,
 * and a retry can succeed.
 */
export function wasUndone(error: unknown): boolean {
  return UNDONE.has(sqlStateOf(error));
}

export function sqlStateOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/**
 * Turns an error of PostgreSQL into an error that the caller can act on. Other errors are bugs and are returned
 * unchanged.
 */
export function toKnownError(error: unknown): unknown {
  if (!(error instanceof Error) || isKnownError(error)) return error;
  const sqlState = sqlStateOf(error);
  const known = (code: ErrorCode, sentence: string): KnownError => new KnownError(code, sentence, { cause: error });
  if (UNREACHABLE.test(sqlState) || ENDED.test(error.message) || error instanceof AggregateError)
    return known("store_unavailable", `PostgreSQL cannot be reached: ${error.message || sqlState}.`);
  if (sqlState === "57014") return known("store_unavailable", "The statement took too long, so PostgreSQL ended it.");
  if (wasUndone(error))
    return known(
      "store_unavailable",
      "PostgreSQL rolled the statement back several times because of other transactions. Retry.",
    );
  if (sqlState === "53100") return known("disk_full", "PostgreSQL's disk is full. Nothing of this was stored.");
  if (sqlState === "25006") return known("read_only", "PostgreSQL is read-only and rejected the write.");
  if (sqlState === "23505") return known("already_exists", `It exists already: ${error.message}.`);
  if (sqlState.startsWith("22") || sqlState === "23514" || sqlState === "54000")
    return known("invalid", `PostgreSQL cannot store this: ${error.message}.`);
  return error;
}
