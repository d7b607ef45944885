import type { DuckDBConnection } from "@duckdb/node-api";
import { literal } from "./quote.ts";

/** Rows with their values by column name. A missing value is NULL. */
export type Rows = readonly Readonly<Record<string, unknown>>[];

/** The types of columns, in the order of the table. */
export type Columns = Readonly<Record<string, string>>;

export async function loadRows(
  connection: DuckDBConnection,
  table: string,
  columns: Columns,
  rows: Rows,
): Promise<void> {
  await connection.run(`DELETE FROM ${table}`);
  await appendRows(connection, table, columns, rows);
}

export async function appendRows(
  connection: DuckDBConnection,
  table: string,
  columns: Columns,
  rows: Rows,
): Promise<void> {
  const loader = createLoader(connection);
  await loader.add(table, columns, rows);
  await loader.finish();
}

/**
 * Adds rows to several tables in large batches, because inserting a thousand rows takes about as long as inserting one
 * row.
 */
export interface Loader {
  add(table: string, columns: Columns, rows: Rows): Promise<void>;
  /** Inserts the rows of the last batch. */
  finish(): Promise<void>;
}

/** The length of the text in one batch. DuckDB needs several times as much memory to parse it. */
const WAITING_CHARACTERS = 4 * 2 ** 20;

export function createLoader(connection: DuckDBConnection): Loader {
  const waiting = new Map<string, { readonly columns: Columns; readonly rows: string[] }>();
  let characters = 0;
  async function finish(): Promise<void> {
    for (const [table, { columns, rows }] of waiting)
      await insert(connection, { table, columns, rows: `[${rows.join(",")}]` });
    waiting.clear();
    characters = 0;
  }
  return {
    async add(table, columns, rows) {
      const names = Object.keys(columns);
      for (const row of rows) {
        const text = JSON.stringify(wellFormed(Object.fromEntries(names.map((name) => [name, row[name] ?? null]))));
        const target = waiting.get(table) ?? { columns, rows: [] };
        waiting.set(table, target);
        target.rows.push(text);
        characters += text.length;
        if (characters > WAITING_CHARACTERS) await finish();
      }
    },
    finish,
  };
}

interface Insertion {
  readonly table: string;
  readonly columns: Columns;
  /** The rows as a JSON array of objects. */
  readonly rows: string;
}

async function insert(connection: DuckDBConnection, { table, columns, rows }: Insertion): Promise<void> {
  const shape = literal(JSON.stringify([columns]));
  await connection.run(
    `INSERT INTO ${table} SELECT unnest(item) FROM (SELECT unnest(from_json($1::JSON, ${shape})) AS item)`,
    [rows],
  );
}

/** Returns the value without lone surrogates in its texts and keys, because DuckDB rejects them. */
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
