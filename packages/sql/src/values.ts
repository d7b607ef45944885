/** DuckDB's values as plain ones. */
import { DuckDBTypeId, type DuckDBResultReader, type Json } from "@duckdb/node-api";

export interface Column {
  readonly name: string;
  /** As DuckDB writes it: `VARCHAR`, `TIMESTAMP`, `JSON`. */
  readonly type: string;
}

/** Texts, numbers, booleans and null; lists and structures; JSON columns as what they hold; times as text. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };
export type Row = readonly Value[];

const NUMBERS: ReadonlySet<string> = new Set(["BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT"]);

export function columnsOf(reader: Pick<DuckDBResultReader, "columnNames" | "columnType">): readonly Column[] {
  return reader.columnNames().map((name, at) => {
    const type = reader.columnType(at);
    const isJson = type.typeId === DuckDBTypeId.VARCHAR && type.alias === "JSON";
    return { name, type: isJson ? "JSON" : type.toString() };
  });
}

export function rowsOf(reader: DuckDBResultReader, columns: readonly Column[]): readonly Row[] {
  return reader.getRowsJson().map((row) => plainRow(row, columns));
}

export function plainRow(row: readonly Json[], columns: readonly Column[]): Row {
  return row.map((value, at) => plain(value, columns[at]?.type ?? ""));
}

function plain(value: Json, type: string): Value {
  if (typeof value !== "string") return value;
  if (type === "JSON") return parsed(value);
  if (NUMBERS.has(type) || type.startsWith("DECIMAL")) {
    const number = Number(value);
    // A number that JavaScript cannot hold stays a text: a rounded one would be another.
    return Number.isInteger(number) && !Number.isSafeInteger(number) ? value : number;
  }
  return value;
}

function parsed(text: string): Value {
  try {
    return JSON.parse(text) as Value;
  } catch {
    return text;
  }
}
