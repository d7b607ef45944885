/**
 * The error for a statement that DuckDB rejected. The message comes from DuckDB and marks the place in the statement if
 * possible.
 */
export class SqlError extends Error {
  override readonly name = "SqlError";
  readonly sql: string;

  constructor(sql: string, message: string) {
    // Removes the prefix that DuckDB's Node package adds, so that the message begins with DuckDB's kind of error.
    super(message.replace(/^Failed to extract statements: /, ""));
    this.sql = sql;
  }
}

/** Returns any error of a statement as a `SqlError`. */
export function failure(sql: string, error: unknown): SqlError {
  if (error instanceof SqlError) return error;
  return new SqlError(sql, error instanceof Error ? error.message : String(error));
}
