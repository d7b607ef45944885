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
  /** The type by DuckDB's name, such as `VARCHAR`, `TIMESTAMP` or `JSON`. */
  readonly type: string;
}

/** A value of an answer. JSON columns are parsed, and times and intervals are texts. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };
export type Row = readonly Value[];

/** Returns true if a statement returns rows, and not only a count of changed rows. */
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

/**
 * Converts a row. `types` must come from the result, because the types of a chunk do not show which columns are JSON.
 */
export function plainRow(row: readonly DuckDBValue[], types: readonly DuckDBType[]): Row {
  return row.map((value, at) => plain(value, types[at] ?? ANY));
}

export function plain(value: DuckDBValue, type: DuckDBType): Value {
  return PLAIN(value, type, PLAIN);
}

/** Converts a value, with the values inside lists and structures. */
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

/** The number of decimal digits that a JavaScript number always keeps exactly. */
const EXACT_DIGITS = 15;

/** Returns a number, or its text if JavaScript cannot represent the number exactly. */
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
