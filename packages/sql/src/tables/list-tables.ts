import type { DuckDBConnection } from "@duckdb/node-api";
import { TABLE_DOCS, columnDoc } from "./table-docs.ts";
import type { Column } from "../answer/values.ts";

export interface Table {
  /**
   * The name with its schema, such as `claude.responses`. Tables of the schema `main` have no schema in their name,
   * such as `claude_plans`.
   */
  readonly name: string;
  readonly about: string;
  readonly columns: readonly (Column & { readonly about: string })[];
}

/** Lists all documented tables with their columns in the database. */
export async function listTables(connection: DuckDBConnection): Promise<readonly Table[]> {
  const reader = await connection.runAndReadAll(
    "SELECT schema_name || '.' || table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal AND database_name = 'memory' ORDER BY table_oid, column_index",
  );
  const columns = (reader.getRows() as [string, string, string][]).map(([table, name, type]) => ({
    table,
    name,
    type,
  }));
  return Object.entries(TABLE_DOCS).map(([table, about]) => ({
    name: table.replace(/^main\./, ""),
    about,
    columns: columns
      .filter((column) => column.table === table)
      .map(({ name, type }) => ({ name, type, about: columnDoc(table, name) ?? "" })),
  }));
}
