/** A statement that DuckDB refused, with its words. They mark the place themselves where they know it. */
export class SqlError extends Error {
  override readonly name = "SqlError";
  readonly sql: string;

  constructor(sql: string, message: string) {
    super(message);
    this.sql = sql;
  }
}

/** Whatever went wrong with a statement, as an error of that statement. */
export function failure(sql: string, error: unknown): SqlError {
  if (error instanceof SqlError) return error;
  return new SqlError(sql, error instanceof Error ? error.message : String(error));
}
