/** `@skein/sql/sandbox`: SQL from clients. DuckDB is not loaded into the process that imports this. */
export { TABLE_DOCS } from "../tables/table-docs.ts";
export { sandboxProblem } from "./sandbox-problem.ts";
export { type TenantSql, createTenantSql } from "./tenant-sql.ts";
