import type { SqlAnswer } from "../api/sql.ts";

/** The tables that SQL can ask, with their columns. */
export interface Tables {
  /** Columns by the name of their table. */
  readonly names: Readonly<Record<string, readonly string[]>>;
  readonly columns: readonly { readonly table: string; readonly columns: readonly { name: string; type: string }[] }[];
}

/** Reads the tables out of the answer to `SCHEMA_SQL`. */
export function tablesOf(schema: SqlAnswer | undefined): Tables {
  const found = new Map<string, { name: string; type: string }[]>();
  for (const row of schema?.rows ?? []) {
    const table =
      row["table_schema"] === "main"
        ? String(row["table_name"])
        : `${String(row["table_schema"])}.${String(row["table_name"])}`;
    const columns = found.get(table) ?? [];
    columns.push({ name: String(row["column_name"]), type: String(row["data_type"]) });
    found.set(table, columns);
  }
  return {
    names: Object.fromEntries([...found].map(([table, columns]) => [table, columns.map(({ name }) => name)])),
    columns: [...found].map(([table, columns]) => ({ table, columns })),
  };
}
