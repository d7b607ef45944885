import { skipValue } from "../../../scan/json-scan.ts";
import { newPeek, peekLine } from "../format/peek-line.ts";
import { isStringAt, readCounters, stringAt, timeAt } from "./counters.ts";
import { addCall, column, newCall, raise, type UsageTable, valueOf } from "../../../usage/usage-table.ts";

const peek = newPeek();
const call = newCall();
const usageKeyLength = '"usage":'.length;

export interface HitLine {
  readonly start: number;
  readonly end: number;
  readonly hit: number;
}

/**
 * Reads a line with the usual form of an answer: the message is its first nested value, and the only `usage` (at `hit`) is
 * a key of the message. The text between them is not read, and a further line of the same answer creates no strings.
 * Returns false for any other line, which must then be read as a whole.
 */
export function readPlainAnswer(table: UsageTable, bytes: Buffer, { start, end, hit }: HitLine): boolean {
  if (!peekLine(bytes, start, end, peek) || !isStringAt(bytes, peek.typeStart, peek.typeEnd, "assistant")) return false;
  if (!isStringAt(bytes, peek.nestedKeyStart, peek.nestedKeyEnd, "message") || peek.tailAt < 0) return false;
  const usageStart = hit + usageKeyLength;
  if (hit < peek.nestedAt || hit > peek.tailAt || bytes[usageStart] !== 0x7b) return false;
  const usageEnd = readCounters(bytes, usageStart, peek.tailAt, call.numbers);
  if (usageEnd < 0 || !closesOnce(bytes, usageEnd, peek.tailAt)) return false;
  if (!readHead(bytes, peek.nestedAt + 1, hit)) return false;
  if (isStringAt(bytes, head.modelStart, head.modelEnd, "<synthetic>")) return true;
  const { timestampStart, timestampEnd, requestIdStart, requestIdEnd } = peek;
  call.numbers[column.time] = timestampStart < 0 ? 0 : timeAt(bytes, timestampStart, timestampEnd);
  if (peek.isSidechain) call.numbers[column.flags] = (call.numbers[column.flags] ?? 0) | 2;
  const last = table.ids.length - 1;
  const isLast =
    last >= 0 &&
    isStringAt(bytes, head.idStart, head.idEnd, table.ids[last] ?? "") &&
    isStringAt(bytes, requestIdStart, requestIdEnd, table.requestIds[last] ?? "");
  if (isLast) {
    raise(table, last, call.numbers);
    return true;
  }
  call.id = stringAt(bytes, head.idStart, head.idEnd);
  call.requestId = requestIdStart < 0 ? "" : stringAt(bytes, requestIdStart, requestIdEnd);
  // Most calls of a session use the same model, so the last name is reused.
  const model = table.models[last < 0 ? 0 : valueOf(table, last, column.model)] ?? "";
  const isSameModel = isStringAt(bytes, head.modelStart, head.modelEnd, model);
  call.model = isSameModel ? model : stringAt(bytes, head.modelStart, head.modelEnd);
  addCall(table, call);
  return true;
}

/** Whether exactly one object is closed between `at` and `end`: then the key before `at` belongs to that object. */
function closesOnce(bytes: Buffer, at: number, end: number): boolean {
  let depth = 0;
  for (let i = at; i < end; i += 1) {
    const byte = bytes[i];
    if (byte === 0x22) {
      i = skipValue(bytes, i, end) - 1;
      if (i < 0) return false;
    } else if (byte === 0x7b || byte === 0x5b) depth += 1;
    else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    // The object with the usage is closed before the last nested value ends, so it is not that value.
    if (depth < 0) return depth === -1 && i === end - 1;
  }
  return false;
}

const head = { idStart: -1, idEnd: -1, modelStart: -1, modelEnd: -1 };

/** Finds the message's id and model, which are before its content. */
function readHead(bytes: Buffer, start: number, end: number): boolean {
  head.idStart = head.modelStart = -1;
  let i = start;
  while (bytes[i] === 0x22) {
    const keyEnd = skipValue(bytes, i, end);
    if (keyEnd < 0 || bytes[keyEnd] !== 0x3a) return false;
    const first = bytes[keyEnd + 1];
    if (first === 0x7b || first === 0x5b) return false;
    const valueEnd = skipValue(bytes, keyEnd + 1, end);
    if (valueEnd < 0) return false;
    if (first === 0x22 && isStringAt(bytes, i + 1, keyEnd - 1, "id")) {
      head.idStart = keyEnd + 2;
      head.idEnd = valueEnd - 1;
    } else if (first === 0x22 && isStringAt(bytes, i + 1, keyEnd - 1, "model")) {
      head.modelStart = keyEnd + 2;
      head.modelEnd = valueEnd - 1;
    }
    if (head.idStart >= 0 && head.modelStart >= 0) return true;
    if (bytes[valueEnd] !== 0x2c) return false;
    i = valueEnd + 1;
  }
  return false;
}
