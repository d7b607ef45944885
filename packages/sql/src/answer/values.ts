/** Converts DuckDB's values to plain JavaScript values. */
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
  /** DuckDB's name of the type: `VARCHAR`, `TIMESTAMP`, `JSON`. */
  readonly type: string;
}

/** Texts, numbers, booleans and null; lists and structures; JSON columns as parsed values; times and intervals as text. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };
export type Row = readonly Value[];

/** Whether a statement has rows as its answer, rather than a count of changed rows or nothing. */
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

/** The types must be those of the result: the types of a chunk do not show which columns are JSON. */
export function plainRow(row: readonly DuckDBValue[], types: readonly DuckDBType[]): Row {
  return row.map((value, at) => plain(value, types[at] ?? ANY));
}

export function plain(value: DuckDBValue, type: DuckDBType): Value {
  return PLAIN(value, type, PLAIN);
}

/** Also converts the values inside lists and structures. */
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

/** How many decimal digits a JavaScript number keeps exactly, wherever the decimal point is. */
const EXACT_DIGITS = 15;

/** A number that JavaScript cannot represent exactly becomes text. */
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
