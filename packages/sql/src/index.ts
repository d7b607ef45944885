/** `@skein/sql`: questions in SQL, over Claude Code's files and over the platform's sessions. */
export { type BuildCopyOptions, type BuildCopyResult, buildCopy } from "./copy/build-copy.ts";
export { createSql, type Sql, type SqlOptions, type SqlResult, type SqlStream } from "./create-sql.ts";
export { type Example, examples } from "./examples.ts";
export { initSql } from "./init/init-sql.ts";
export { exportTables } from "./export-tables.ts";
export { copyStatus, type CopyStatus, removeCopy } from "./copy/copy-status.ts";
export { splitStatements, type Statements, statementsOf } from "./plan/statements.ts";
export type { Table } from "./tables/list-tables.ts";
export { SqlError } from "./sql-error.ts";
export type { Column, Row, Value } from "./answer/values.ts";
