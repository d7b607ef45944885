/**
 * Keeps the model calls of all files as columns of numbers. A call takes 100 bytes, so years of calls fit into memory.
 *
 * Ids are kept as hashes of 64 bits. Among a million calls the probability of two equal hashes is one in 40 million.
 */
import { column, raiseAt, width, type UsageTable } from "./usage-table.ts";

export interface CallColumns {
  /** Adds the calls of a file, and returns the row of its first call. */
  add(table: UsageTable, file: number): number;
  value(row: number, which: number): number;
  model(row: number): string;
  /**
   * Finds copies: calls that are also in an earlier file of `ranges`. A copy raises the counters of the earlier row.
   * Returns a function that checks whether a row is a copy.
   */
  mergeCopies(ranges: Iterable<RowRange>): (row: number) => boolean;
}

export interface RowRange {
  readonly first: number;
  readonly end: number;
}

/** Rows are kept in blocks, because a single growing array would be copied often. */
const blockBits = 13;
const blockRows = 1 << blockBits;
const keyWidth = 5;
/** The positions of a row's keys. The keys are hashes of the id and the request, and the number of the file. */
const key = { id: 0, id2: 1, request: 2, request2: 3, file: 4 } as const;

interface Block {
  readonly numbers: Float64Array;
  readonly keys: Uint32Array;
}

export function createCallColumns(): CallColumns {
  const blocks: Block[] = [];
  const models: string[] = [];
  let rows = 0;
  const blockOf = (row: number): Block => blocks[row >>> blockBits] ?? noBlock;
  const value = (row: number, which: number): number =>
    blockOf(row).numbers[(row & (blockRows - 1)) * width + which] ?? 0;
  const keyOf = (row: number, which: number): number =>
    blockOf(row).keys[(row & (blockRows - 1)) * keyWidth + which] ?? 0;

  const addRow = (table: UsageTable, from: number, file: number): void => {
    if (rows === blocks.length * blockRows) {
      blocks.push({ numbers: new Float64Array(blockRows * width), keys: new Uint32Array(blockRows * keyWidth) });
    }
    const { numbers, keys } = blockOf(rows);
    const at = (rows & (blockRows - 1)) * width;
    for (let i = 0; i < width; i += 1) numbers[at + i] = table.numbers[from * width + i] ?? 0;
    const model = table.models[numbers[at + column.model] ?? 0] ?? "";
    let known = models.indexOf(model);
    if (known < 0) known = models.push(model) - 1;
    numbers[at + column.model] = known;
    const keyAt = (rows & (blockRows - 1)) * keyWidth;
    hash(table.ids[from] ?? "", keys, keyAt + key.id);
    hash(table.requestIds[from] ?? "", keys, keyAt + key.request);
    keys[keyAt + key.file] = file;
    rows += 1;
  };

  const isSameId = (a: number, b: number): boolean =>
    keyOf(a, key.id) === keyOf(b, key.id) && keyOf(a, key.id2) === keyOf(b, key.id2);

  /**
   * Returns true if two rows are one request: they have the same request id, or one of them has no request id, or
   * exactly one of them is in a side chain.
   */
  const isSameRequest = (a: number, b: number): boolean => {
    const [a1, a2, b1, b2] = [
      keyOf(a, key.request),
      keyOf(a, key.request2),
      keyOf(b, key.request),
      keyOf(b, key.request2),
    ];
    if ((a1 === b1 && a2 === b2) || (a1 === 0 && a2 === 0) || (b1 === 0 && b2 === 0)) return true;
    return (value(a, column.flags) & 2) !== (value(b, column.flags) & 2);
  };

  const raise = (row: number, by: number): void => {
    const { numbers } = blockOf(by);
    const from = (by & (blockRows - 1)) * width;
    raiseAt(blockOf(row).numbers, (row & (blockRows - 1)) * width, numbers.subarray(from, from + width));
  };

  return {
    add(table, file) {
      const first = rows;
      for (let row = 0; row < table.ids.length; row += 1) addRow(table, row, file);
      return first;
    },
    value,
    model: (row) => models[value(row, column.model)] ?? "",
    mergeCopies(ranges) {
      const slots = new Int32Array(2 ** Math.ceil(Math.log2(rows * 2 + 2))).fill(-1);
      /** For each row, the next row that has the same id and is in the same file. */
      const next = new Int32Array(rows).fill(-1);
      const isCopy = new Uint8Array(rows);
      const headOf = (row: number): number => {
        let slot = keyOf(row, key.id) & (slots.length - 1);
        for (let head = slots[slot] ?? -1; head >= 0; head = slots[slot] ?? -1) {
          if (isSameId(head, row)) return head;
          slot = (slot + 1) & (slots.length - 1);
        }
        slots[slot] = row;
        return row;
      };
      for (const { first, end } of ranges) {
        for (let row = first; row < end; row += 1) {
          const head = headOf(row);
          if (head === row) continue;
          const isOwn = keyOf(head, key.file) === keyOf(row, key.file);
          let last = head;
          for (let twin = head; twin >= 0; twin = next[twin] ?? -1) {
            last = twin;
            if (isOwn || !isSameRequest(twin, row)) continue;
            raise(twin, row);
            isCopy[row] = 1;
            break;
          }
          if (isOwn) next[last] = row;
        }
      }
      return (row) => isCopy[row] === 1;
    },
  };
}

const noBlock: Block = { numbers: new Float64Array(0), keys: new Uint32Array(0) };

/** Writes two independent hashes of a text. Only an empty text gives two zeros. */
function hash(text: string, into: Uint32Array, at: number): void {
  let a = 0x811c9dc5;
  let b = 0x9e3779b9;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x85ebca6b);
    b ^= b >>> 15;
  }
  into[at] = text === "" ? 0 : (a ^ (a >>> 16)) >>> 0;
  into[at + 1] = text === "" ? 0 : b >>> 0 || 1;
}
