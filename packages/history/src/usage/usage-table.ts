/** Keeps the model calls of one file as columns of numbers. Tens of thousands of objects would need much memory. */

/** The position of each number in a row. */
export const column = {
  input: 0,
  output: 1,
  cacheWrite: 2,
  cacheRead: 3,
  cacheWrite5m: 4,
  cacheWrite1h: 5,
  searches: 6,
  /**
   * The sum of these values: 1 for fast mode, 2 for a side chain (in which copies of the parent's messages have other
   * request ids), 4 for a sum of several calls.
   */
  flags: 7,
  /** The time of the call's first line in milliseconds, or 0 if it is unknown. */
  time: 8,
  model: 9,
} as const;

export const width = 10;
/**
 * The number of columns with counters, which come first. The largest value of a counter is kept, because early lines of
 * an answer have placeholders.
 */
const counters = 7;

export interface UsageTable {
  /** The `message.id` of each row, or the uuid of the line if the message has no id. */
  readonly ids: string[];
  readonly requestIds: string[];
  readonly models: string[];
  /**
   * The numbers of all rows. They are a Float64Array when they come from the index, and a list after a call was added.
   */
  numbers: number[] | Float64Array;
  /** The positions of ids, which exist only after a call was added. Most tables are only read and do not need them. */
  places: Places | undefined;
}

interface Places {
  /** The first row of each id. */
  readonly rows: Map<string, number>;
  /** For each row, the next row with the same id and another request. */
  readonly next: Map<number, number>;
}

/** A call that was read from a line. One object is used for all lines. */
export interface Call {
  id: string;
  requestId: string;
  model: string;
  readonly numbers: Float64Array;
}

export function newTable(): UsageTable {
  return { ids: [], requestIds: [], models: [], numbers: [], places: undefined };
}

export function newCall(): Call {
  return { id: "", requestId: "", model: "", numbers: new Float64Array(width) };
}

export function valueOf(table: UsageTable, row: number, which: number): number {
  return table.numbers[row * width + which] ?? 0;
}

/** Adds a call, or raises the counters if the table already has the call. Returns the row. */
export function addCall(table: UsageTable, call: Call): number {
  const { rows, next } = (table.places ??= placesOf(table));
  const first = rows.get(call.id);
  let last = -1;
  for (let row = first; row !== undefined; row = next.get(row)) {
    if (isSameCall(table, row, call.requestId, call.numbers[column.flags] ?? 0)) {
      raise(table, row, call.numbers);
      return row;
    }
    last = row;
  }
  const row = table.ids.length;
  if (first === undefined) rows.set(call.id, row);
  else next.set(last, row);
  let model = table.models.indexOf(call.model);
  if (model < 0) model = table.models.push(call.model) - 1;
  call.numbers[column.model] = model;
  table.ids.push(call.id);
  table.requestIds.push(call.requestId);
  if (table.numbers instanceof Float64Array) table.numbers = [...table.numbers];
  for (let i = 0; i < width; i += 1) table.numbers.push(call.numbers[i] ?? 0);
  return row;
}

/** Raises the counters of a row to the values in another record of the call. Keeps the earlier time. */
export function raise(table: UsageTable, row: number, numbers: Float64Array): void {
  raiseAt(table.numbers, row * width, numbers);
}

/** Raises the counters of the row that begins at `from`. */
export function raiseAt(known: number[] | Float64Array, from: number, numbers: Float64Array): void {
  for (let i = 0; i < counters; i += 1) {
    const value = numbers[i] ?? 0;
    if (value > (known[from + i] ?? 0)) known[from + i] = value;
  }
  known[from + column.flags] = (known[from + column.flags] ?? 0) | ((numbers[column.flags] ?? 0) & 1);
  const time = numbers[column.time] ?? 0;
  const before = known[from + column.time] ?? 0;
  if (time > 0 && (before === 0 || time < before)) known[from + column.time] = time;
}

/**
 * Returns true if a row with the same id is this call: the request ids are equal, or one of them is missing, or exactly
 * one of the two is in a side chain.
 */
function isSameCall(table: UsageTable, row: number, requestId: string, flags: number): boolean {
  const known = table.requestIds[row] ?? "";
  if (known === requestId || known === "" || requestId === "") return true;
  return (valueOf(table, row, column.flags) & 2) !== (flags & 2);
}

export function encodeTable(table: UsageTable): { readonly text: object; readonly numbers: Buffer } {
  return {
    text: { ids: table.ids.join("\n"), requestIds: table.requestIds.join("\n"), models: table.models },
    numbers: Buffer.from(Float64Array.from(table.numbers).buffer),
  };
}

export function decodeTable(
  text: { readonly ids: string; readonly requestIds: string; readonly models: string[] },
  numbers: Buffer,
): UsageTable {
  const count = numbers.length / 8 / width;
  return {
    ids: count === 0 ? [] : text.ids.split("\n"),
    requestIds: count === 0 ? [] : text.requestIds.split("\n"),
    models: [...text.models],
    numbers: new Float64Array(numbers.buffer.slice(numbers.byteOffset, numbers.byteOffset + numbers.length)),
    places: undefined,
  };
}

function placesOf({ ids }: UsageTable): Places {
  const rows = new Map<string, number>();
  const next = new Map<number, number>();
  for (const [row, id] of ids.entries()) {
    let last = rows.get(id);
    if (last === undefined) {
      rows.set(id, row);
      continue;
    }
    for (let following = next.get(last); following !== undefined; following = next.get(last)) last = following;
    next.set(last, row);
  }
  return { rows, next };
}
