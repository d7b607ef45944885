/**
 * An answer as an Arrow stream (IPC).
 *
 * Truth values, numbers, texts, bytes, days and instants keep their types. What else DuckDB has (lists, structures,
 * times of day, intervals) and JSON come as text, as the JSON lines have them.
 */
import {
  DuckDBBlobValue,
  type DuckDBDataChunk,
  DuckDBDateValue,
  DuckDBDecimalValue,
  type DuckDBResult,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
  JsonDuckDBValueConverter,
} from "@duckdb/node-api";
import {
  Binary,
  Bool,
  type Data,
  type DataType,
  DateDay,
  Decimal,
  Field,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  RecordBatch,
  Schema,
  Struct,
  Table,
  TimestampMicrosecond,
  Uint16,
  Uint32,
  Uint64,
  Uint8,
  Utf8,
  makeData,
  tableToIPC,
} from "apache-arrow";
import type { Column } from "../values.ts";

interface Answer {
  readonly result: DuckDBResult;
  readonly columns: readonly Column[];
  readonly limits: { readonly rows: number; readonly bytes: number };
}

type Cell = number | bigint | boolean | Uint8Array | null;

/** How a column is written: cells of one width each, bits, or bytes of any length. */
interface Kind {
  readonly type: DataType;
  readonly width: number | "bit" | "any";
  readonly put?: (view: DataView, at: number, cell: Cell) => void;
}

/** The rows that the limits allow, all at once: how many there are is said before the stream. */
export async function arrowStream({ result, columns, limits }: Answer): Promise<{
  readonly stream: Uint8Array;
  readonly rows: number;
  readonly truncated: boolean;
}> {
  const kinds = columns.map((_, at) => kindOf(result.columnType(at)));
  const cells: Cell[][] = columns.map(() => []);
  const counted = { rows: 0, bytes: 0 };
  let truncated = false;
  for await (const chunk of result) {
    truncated = take({ chunk, kinds, cells, counted, limits });
    if (truncated) break;
  }
  for (let { rows } = counted; ; rows = Math.floor(rows / 2), truncated = true) {
    const stream = streamOf({ columns, kinds, cells, rows });
    // The frame around the rows counts too. A schema alone is always sent.
    if (stream.length <= limits.bytes || rows === 0) return { stream, rows, truncated };
  }
}

interface Taking extends Pick<Answer, "limits"> {
  readonly chunk: DuckDBDataChunk;
  readonly kinds: readonly Kind[];
  readonly cells: readonly Cell[][];
  readonly counted: { rows: number; bytes: number };
}

/** Takes the rows of a chunk; answers whether there was one too many. */
function take({ chunk, kinds, cells, counted, limits }: Taking): boolean {
  for (let row = 0; row < chunk.rowCount; row += 1) {
    const values = chunk.getRowValues(row);
    const taken = values.map((value, at) =>
      cellOf(value, kinds[at] ?? TEXT, () => chunk.convertRowValues(row, JsonDuckDBValueConverter)[at]),
    );
    const sizes = taken.map((cell, at) => {
      const { width } = kinds[at] ?? TEXT;
      return typeof width === "number"
        ? width
        : width === "bit"
          ? 1
          : 4 + (cell instanceof Uint8Array ? cell.length : 0);
    });
    const size = sizes.reduce((sum, one) => sum + one, 0);
    if (counted.rows === limits.rows || counted.bytes + size > limits.bytes) return true;
    counted.rows += 1;
    counted.bytes += size;
    for (const [at, cell] of taken.entries()) cells[at]?.push(cell);
  }
  return false;
}

function cellOf(value: DuckDBValue, { width }: Kind, json: () => unknown): Cell {
  if (value === null) return null;
  if (typeof value === "string") return Buffer.from(value);
  if (value instanceof DuckDBBlobValue) return value.bytes;
  if (width === "any") {
    const plain = json();
    return Buffer.from(typeof plain === "string" ? plain : JSON.stringify(plain));
  }
  if (value instanceof DuckDBDateValue) return value.days;
  if (value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue) return value.micros;
  if (value instanceof DuckDBDecimalValue) return value.value;
  return value as number | bigint | boolean;
}

const TEXT: Kind = { type: new Utf8(), width: "any" };

function kindOf(type: DuckDBType): Kind {
  switch (type.typeId) {
    case DuckDBTypeId.BOOLEAN:
      return { type: new Bool(), width: "bit" };
    case DuckDBTypeId.TINYINT:
      return { type: new Int8(), width: 1, put: (view, at, cell) => view.setInt8(at, Number(cell)) };
    case DuckDBTypeId.SMALLINT:
      return { type: new Int16(), width: 2, put: (view, at, cell) => view.setInt16(at, Number(cell), true) };
    case DuckDBTypeId.INTEGER:
      return { type: new Int32(), width: 4, put: (view, at, cell) => view.setInt32(at, Number(cell), true) };
    case DuckDBTypeId.BIGINT:
      return { type: new Int64(), width: 8, put: putInt64 };
    case DuckDBTypeId.UTINYINT:
      return { type: new Uint8(), width: 1, put: (view, at, cell) => view.setUint8(at, Number(cell)) };
    case DuckDBTypeId.USMALLINT:
      return { type: new Uint16(), width: 2, put: (view, at, cell) => view.setUint16(at, Number(cell), true) };
    case DuckDBTypeId.UINTEGER:
      return { type: new Uint32(), width: 4, put: (view, at, cell) => view.setUint32(at, Number(cell), true) };
    case DuckDBTypeId.UBIGINT:
      return { type: new Uint64(), width: 8, put: (view, at, cell) => view.setBigUint64(at, cell as bigint, true) };
    case DuckDBTypeId.HUGEINT:
      return { type: new Decimal(0, 38, 128), width: 16, put: putInt128 };
    case DuckDBTypeId.DECIMAL:
      return { type: new Decimal(type.scale, type.width, 128), width: 16, put: putInt128 };
    case DuckDBTypeId.FLOAT:
      return { type: new Float32(), width: 4, put: (view, at, cell) => view.setFloat32(at, cell as number, true) };
    case DuckDBTypeId.DOUBLE:
      return { type: new Float64(), width: 8, put: (view, at, cell) => view.setFloat64(at, cell as number, true) };
    case DuckDBTypeId.DATE:
      return { type: new DateDay(), width: 4, put: (view, at, cell) => view.setInt32(at, Number(cell), true) };
    case DuckDBTypeId.TIMESTAMP:
      return { type: new TimestampMicrosecond(), width: 8, put: putInt64 };
    case DuckDBTypeId.TIMESTAMP_TZ:
      return { type: new TimestampMicrosecond("UTC"), width: 8, put: putInt64 };
    case DuckDBTypeId.BLOB:
      return { type: new Binary(), width: "any" };
    default:
      return TEXT;
  }
}

function putInt64(view: DataView, at: number, cell: Cell): void {
  view.setBigInt64(at, cell as bigint, true);
}

function putInt128(view: DataView, at: number, cell: Cell): void {
  const value = BigInt.asUintN(128, cell as bigint);
  view.setBigUint64(at, BigInt.asUintN(64, value), true);
  view.setBigUint64(at + 8, value >> 64n, true);
}

interface Rows {
  readonly columns: readonly Column[];
  readonly kinds: readonly Kind[];
  readonly cells: readonly (readonly Cell[])[];
  readonly rows: number;
}

function streamOf({ columns, kinds, cells, rows }: Rows): Uint8Array {
  const fields = columns.map(({ name }, at) => new Field(name, (kinds[at] ?? TEXT).type, true));
  const children = kinds.map((kind, at) => dataOf(kind, (cells[at] ?? []).slice(0, rows)));
  const batch = new RecordBatch(
    new Schema(fields),
    makeData({ type: new Struct(fields), length: rows, nullCount: 0, children }),
  );
  return tableToIPC(new Table(batch), "stream");
}

/** Arrow's own function, without its one overload for each type. */
const dataWith = makeData as unknown as (buffers: Readonly<Record<string, unknown>>) => Data;

function dataOf({ type, width, put }: Kind, cells: readonly Cell[]): Data {
  const { length } = cells;
  const nullBitmap = bits(cells, (cell) => cell !== null);
  const nullCount = cells.filter((cell) => cell === null).length;
  const common = { type, length, nullCount, nullBitmap };
  if (width === "bit") return dataWith({ ...common, data: bits(cells, (cell) => cell === true) });
  if (width === "any") {
    const parts = cells.map((cell) => (cell instanceof Uint8Array ? cell : new Uint8Array()));
    const valueOffsets = new Int32Array(length + 1);
    for (const [at, part] of parts.entries()) valueOffsets[at + 1] = (valueOffsets[at] ?? 0) + part.length;
    return dataWith({ ...common, valueOffsets, data: Buffer.concat(parts) });
  }
  const data = new Uint8Array(length * width);
  const view = new DataView(data.buffer);
  for (const [at, cell] of cells.entries()) if (cell !== null) put?.(view, at * width, cell);
  return dataWith({ ...common, data });
}

/** One bit for each cell, the first in the lowest place. */
function bits(cells: readonly Cell[], isSet: (cell: Cell) => boolean): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(cells.length / 8));
  for (const [at, cell] of cells.entries()) if (isSet(cell)) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (1 << (at & 7));
  return bytes;
}
