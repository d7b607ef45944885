/**
 * Writes an answer as an Arrow stream (IPC). The stream has the schema, one batch of rows for each chunk of DuckDB, and
 * a last batch without rows. The metadata of the last batch say how the answer ended.
 *
 * Booleans, numbers, texts, bytes, dates and timestamps keep their types. Other types of DuckDB (lists, structures,
 * times of day, intervals) and JSON are text, as in the JSON lines.
 */
import {
  ANY,
  DuckDBBlobValue,
  type DuckDBDataChunk,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
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
import { type Column, plain } from "../answer/values.ts";
import type { AnswerWriting } from "./json-lines.ts";

type Cell = number | bigint | boolean | Uint8Array | null;

/** How the cells of a column are written: with a fixed number of bytes, with one bit, or with any length. */
interface Kind {
  readonly type: DataType;
  readonly width: number | "bit" | "any";
  readonly put?: (view: DataView, at: number, cell: Cell) => void;
}

/**
 * Writes batches of rows until the rows end or a limit is reached. After the last row, `check` throws if an error ended
 * the rows.
 */
export async function writeArrow(
  { result, columns, limits, write }: AnswerWriting,
  check: () => Promise<void>,
): Promise<{ readonly rows: number; readonly truncated: boolean }> {
  const types = result.columnTypes();
  const kinds = types.map(kindOf);
  const { schema, end } = messagesOf({ columns, kinds, cells: [], rows: 0 });
  const counted = { rows: 0, bytes: schema.length + end.length };
  let truncated = false;
  let before: Uint8Array = schema;
  const send = (bytes: Uint8Array): void => {
    write(Buffer.concat([before, bytes]));
    before = new Uint8Array();
  };
  for await (const chunk of result) {
    const cells: Cell[][] = columns.map(() => []);
    const taken = take({
      chunk,
      types,
      kinds,
      cells,
      left: { rows: limits.rows - counted.rows, bytes: limits.bytes - counted.bytes },
    });
    truncated = taken < chunk.rowCount;
    for (let rows = taken; rows > 0; rows = Math.floor(rows / 2), truncated = true) {
      const { batch } = messagesOf({ columns, kinds, cells, rows });
      // The batch with its headers is over the limit, so the loop tries half as many rows.
      if (counted.bytes + batch.length > limits.bytes) continue;
      counted.rows += rows;
      counted.bytes += batch.length;
      send(batch);
      break;
    }
    if (truncated) break;
  }
  if (!truncated) await check();
  const how = { rows: counted.rows, truncated };
  const { batch } = messagesOf({
    columns,
    kinds,
    cells: [],
    rows: 0,
    metadata: new Map([["end", JSON.stringify(how)]]),
  });
  send(Buffer.concat([batch, end]));
  return how;
}

interface Taking {
  readonly chunk: DuckDBDataChunk;
  readonly types: readonly DuckDBType[];
  readonly kinds: readonly Kind[];
  readonly cells: readonly Cell[][];
  readonly left: { readonly rows: number; readonly bytes: number };
}

/** Adds the rows of a chunk until a limit is reached. Returns the number of added rows. */
function take({ chunk, types, kinds, cells, left }: Taking): number {
  let bytes = 0;
  for (let row = 0; row < chunk.rowCount; row += 1) {
    const values = chunk.getRowValues(row);
    const taken = values.map((value, at) => cellOf(value, kinds[at] ?? TEXT, () => plain(value, types[at] ?? ANY)));
    const sizes = taken.map((cell, at) => {
      const { width } = kinds[at] ?? TEXT;
      return typeof width === "number"
        ? width
        : width === "bit"
          ? 1
          : 4 + (cell instanceof Uint8Array ? cell.length : 0);
    });
    bytes += sizes.reduce((sum, one) => sum + one, 0);
    if (row === left.rows || bytes > left.bytes) return row;
    for (const [at, cell] of taken.entries()) cells[at]?.push(cell);
  }
  return chunk.rowCount;
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
  readonly metadata?: Map<string, string>;
}

/** The length in bytes of the mark at the end of a stream. */
const END_BYTES = 8;

/**
 * Returns the parts of a stream with one batch. The first message (the schema) has no body, so the message ends with
 * its header.
 */
function messagesOf({ columns, kinds, cells, rows, metadata }: Rows) {
  const fields = columns.map(({ name }, at) => new Field(name, (kinds[at] ?? TEXT).type, true));
  const children = kinds.map((kind, at) => dataOf(kind, (cells[at] ?? []).slice(0, rows)));
  const data = makeData({ type: new Struct(fields), length: rows, nullCount: 0, children });
  const stream = tableToIPC(new Table(new RecordBatch(new Schema(fields), data, metadata)), "stream");
  const schemaEnd = 8 + new DataView(stream.buffer, stream.byteOffset).getInt32(4, true);
  return {
    schema: stream.subarray(0, schemaEnd),
    batch: stream.subarray(schemaEnd, -END_BYTES),
    end: stream.subarray(-END_BYTES),
  };
}

/** `makeData` with one type for all columns, instead of an overload for each type. */
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

/** Returns one bit for each cell. The first cell is the lowest bit. */
function bits(cells: readonly Cell[], isSet: (cell: Cell) => boolean): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(cells.length / 8));
  for (const [at, cell] of cells.entries()) if (isSet(cell)) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (1 << (at & 7));
  return bytes;
}
