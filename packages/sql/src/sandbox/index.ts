/** `@skein/sql/sandbox`: SQL that somebody else wrote. Nothing of DuckDB is loaded into the process that imports this. */
export { TABLE_DOCS } from "../tables/table-docs.ts";
export { sandboxProblem } from "./sandbox-problem.ts";
export { type TenantSql, createTenantSql } from "./tenant-sql.ts";
