import { TABLE_DOCS, columnDoc } from "../tables/table-docs.ts";
import type { Part } from "./create-sandbox.ts";

/** A table that statements can read, with descriptions of the table and its columns. */
export interface DescribedTable {
  /** The name, with the schema if the schema is not `main`. */
  readonly name: string;
  readonly about: string;
  readonly columns: { readonly name: string; readonly type: string; readonly about: string }[];
}

/** The statement that lists the columns of every table, in order. */
export const COLUMNS_STATEMENT = `SELECT schema_name || '.' || table_name AS of, column_name AS name, data_type AS type
FROM duckdb_columns() WHERE NOT internal ORDER BY table_oid, column_index`;

/** Returns the documented tables. `parts` is the answer to COLUMNS_STATEMENT as JSON lines. */
export async function describedTables(parts: AsyncIterable<Part>): Promise<readonly DescribedTable[]> {
  const chunks: Uint8Array[] = [];
  for await (const part of parts) if (part.kind === "data") chunks.push(part.bytes);
  const lines = Buffer.concat(chunks).toString().split("\n");
  const columns = lines.flatMap((line) => {
    if (line === "") return [];
    const { row } = JSON.parse(line) as { row?: { of: string; name: string; type: string } };
    return row ? [row] : [];
  });
  const described = Object.entries(TABLE_DOCS).map(([table, about]) => ({
    name: table.replace(/^main\./, ""),
    about,
    columns: columns
      .filter(({ of }) => of === table)
      .map(({ name, type }) => ({ name, type, about: columnDoc(table, name) ?? "" })),
  }));
  return described.filter((table) => table.columns.length > 0);
}
