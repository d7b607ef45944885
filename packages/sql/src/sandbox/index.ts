/** `@skein/sql/sandbox` runs SQL from clients. Importing it does not load DuckDB into the process. */
export { TABLE_DOCS } from "../tables/table-docs.ts";
export { sandboxProblem } from "./sandbox-problem.ts";
export { type TenantSql, createTenantSql } from "./tenant-sql.ts";
