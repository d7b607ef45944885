/** DuckDB's values as plain ones. */
import {
  ANY,
  type DuckDBResultReader,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
  type DuckDBValueConverter,
  type Json,
  JsonDuckDBValueConverter,
  ResultReturnType,
} from "@duckdb/node-api";

export interface Column {
  readonly name: string;
  /** As DuckDB writes it: `VARCHAR`, `TIMESTAMP`, `JSON`. */
  readonly type: string;
}

/** Texts, numbers, booleans and null; lists and structures; JSON columns as what they hold; times and intervals as text. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };
export type Row = readonly Value[];

/** Whether a statement has an answer, instead of a count of rows that it changed, or nothing. */
export function hasAnswer({ returnType }: Pick<DuckDBResultReader, "returnType">): boolean {
  return returnType === ResultReturnType.QUERY_RESULT;
}

export function columnsOf(reader: Pick<DuckDBResultReader, "columnNames" | "columnType">): readonly Column[] {
  return reader.columnNames().map((name, at) => {
    const type = reader.columnType(at);
    const isJson = type.typeId === DuckDBTypeId.VARCHAR && type.alias === "JSON";
    return { name, type: isJson ? "JSON" : type.toString() };
  });
}

export function rowsOf(reader: DuckDBResultReader): readonly Row[] {
  const types = reader.columnTypes();
  return reader.getRows().map((row) => plainRow(row, types));
}

/** The types are those of the result: the ones of its pieces do not say what is JSON. */
export function plainRow(row: readonly DuckDBValue[], types: readonly DuckDBType[]): Row {
  return row.map((value, at) => plain(value, types[at] ?? ANY));
}

export function plain(value: DuckDBValue, type: DuckDBType): Value {
  return PLAIN(value, type, PLAIN);
}

/** A value of DuckDB as a plain one, inside of lists and structures too. */
const PLAIN: DuckDBValueConverter<Value> = (value, type, converter) => {
  if (value === null) return null;
  switch (type.typeId) {
    case DuckDBTypeId.BIGINT:
    case DuckDBTypeId.UBIGINT:
    case DuckDBTypeId.HUGEINT:
    case DuckDBTypeId.UHUGEINT:
    case DuckDBTypeId.DECIMAL:
      return exact(String(value));
    case DuckDBTypeId.INTERVAL:
      return String(value);
    case DuckDBTypeId.VARCHAR:
      return type.alias === "JSON" ? parsed(String(value)) : String(value);
    default:
      return JsonDuckDBValueConverter(value, type, converter as DuckDBValueConverter<Json>);
  }
};

/** So many digits are in a number of JavaScript as they were written, wherever its point is. */
const EXACT_DIGITS = 15;

/** A number that JavaScript cannot hold stays a text: a rounded one would be another. */
function exact(text: string): number | string {
  const number = Number(text);
  const digits = text.replaceAll(/[-.]/g, "").replace(/^0+/, "");
  return digits.length <= EXACT_DIGITS || (!text.includes(".") && Number.isSafeInteger(number)) ? number : text;
}

function parsed(text: string): Value {
  try {
    return JSON.parse(text) as Value;
  } catch {
    return text;
  }
}
