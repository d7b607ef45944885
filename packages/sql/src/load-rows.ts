import type { DuckDBConnection } from "@duckdb/node-api";
import { literal } from "./quote.ts";

type Row = Readonly<Record<string, unknown>>;

const ROWS_AT_ONCE = 2000;

/** Replaces the rows of a table. The columns are given with their types, in the table's order. */
export async function loadRows(
  connection: DuckDBConnection,
  table: string,
  columns: Readonly<Record<string, string>>,
  rows: readonly Row[],
): Promise<void> {
  await connection.run(`DELETE FROM ${table}`);
  await appendRows(connection, table, columns, rows);
}

export async function appendRows(
  connection: DuckDBConnection,
  table: string,
  columns: Readonly<Record<string, string>>,
  rows: readonly Row[],
): Promise<void> {
  const shape = literal(JSON.stringify([columns]));
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    const json = JSON.stringify(wellFormed(rows.slice(at, at + ROWS_AT_ONCE)));
    await connection.run(
      `INSERT INTO ${table} SELECT unnest(item) FROM (SELECT unnest(from_json($1::JSON, ${shape})) AS item)`,
      [json],
    );
  }
}

/** The same value without halves of surrogate pairs, which DuckDB refuses, in texts and in keys. */
export function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (value instanceof Date) return timestamp(value);
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), wellFormed(inner)]));
}

function timestamp(date: Date): string | null {
  return Number.isNaN(Number(date)) ? null : date.toISOString();
}
