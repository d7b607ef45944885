/** `@skein/sql`: questions in SQL, over Claude Code's files and over the platform's sessions. */
export { createSql, type Sql, type SqlOptions, type SqlResult } from "./create-sql.ts";
export { SqlError } from "./sql-error.ts";
export type { Column, Row, Value } from "./values.ts";
