/** Exports `@skein/sql`, which answers SQL queries about Claude Code's files and the platform's sessions. */
export { type BuildCopyOptions, buildCopy } from "./copy/build-copy.ts";
export { copyStatus, removeCopy } from "./copy/copy-status.ts";
export { type Sql, createSql } from "./create-sql.ts";
export { examples } from "./examples.ts";
export { exportTables } from "./export-tables.ts";
export { initSql } from "./init/init-sql.ts";
export { namesHistory } from "./plan/named-tables.ts";
export { splitStatements, statementsOf } from "./plan/split-statements.ts";
export { SqlError } from "./sql-error.ts";
export type { SqlStream } from "./answer/stream-statement.ts";
export type { Column, Row, Value } from "./answer/values.ts";
export type { Table } from "./tables/list-tables.ts";
