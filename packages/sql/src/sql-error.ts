/** A statement that DuckDB refused, with its words. They mark the place themselves where they know it. */
export class SqlError extends Error {
  override readonly name = "SqlError";
  readonly sql: string;

  constructor(sql: string, message: string) {
    super(message);
    this.sql = sql;
  }
}
