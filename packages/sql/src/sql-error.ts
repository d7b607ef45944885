/** A statement that DuckDB refused, with its words. They mark the place themselves where they know it. */
export class SqlError extends Error {
  override readonly name = "SqlError";
  readonly sql: string;

  constructor(sql: string, message: string) {
    // The driver says what it was about to do; DuckDB's own words begin with the kind of the error.
    super(message.replace(/^Failed to extract statements: /, ""));
    this.sql = sql;
  }
}

/** Whatever went wrong with a statement, as an error of that statement. */
export function failure(sql: string, error: unknown): SqlError {
  if (error instanceof SqlError) return error;
  return new SqlError(sql, error instanceof Error ? error.message : String(error));
}
