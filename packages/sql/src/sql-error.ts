/** DuckDB rejected a statement. The message is DuckDB's own, which marks the place in the statement where it can. */
export class SqlError extends Error {
  override readonly name = "SqlError";
  readonly sql: string;

  constructor(sql: string, message: string) {
    // The prefix that DuckDB's Node package adds goes, so that the message begins with DuckDB's kind of error.
    super(message.replace(/^Failed to extract statements: /, ""));
    this.sql = sql;
  }
}

/** Any error of a statement, as a `SqlError`. */
export function failure(sql: string, error: unknown): SqlError {
  if (error instanceof SqlError) return error;
  return new SqlError(sql, error instanceof Error ? error.message : String(error));
}
