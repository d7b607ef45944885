import { findKeys, keys, newFound, readObject, skipSpace } from "../../../scan/json-scan.ts";
import { parseLine } from "../../../scan/parse-line.ts";
import { at, isText, readCounters, text, timeAt } from "./counters.ts";
import { column, type Call } from "../../../usage/usage-table.ts";
import { SUM } from "../../port/source.ts";

const lineKeys = keys("type", "message", "requestId", "timestamp", "uuid", "isSidechain", "data");
const messageKeys = keys("id", "model", "usage");
const progressKeys = keys("type", "message");
const line = newFound(lineKeys);
const inner = newFound(lineKeys);
const message = newFound(messageKeys);
const progress = newFound(progressKeys);

/**
 * Reads the model calls in a line of any form. An answer has one call, and so has a progress line of a subagent. Other
 * lines with a `usage`, such as results of subagents, have none.
 *
 * If records are joined in one line, all of them count. Passes each call to `onCall` as `call`.
 */
// oxlint-disable-next-line max-params
export function readAnyAnswer(
  bytes: Buffer,
  start: number,
  end: number,
  call: Call,
  onCall: (call: Call) => void,
): void {
  if (readWhole(bytes, start, end, call)) {
    if (call.id !== "") onCall(call);
    return;
  }
  for (const { value } of parseLine(bytes.subarray(start, end), { line: 0, offset: 1 }, () => {})) {
    const again = Buffer.from(JSON.stringify(value));
    if (readWhole(again, 0, again.length, call) && call.id !== "") onCall(call);
  }
}

/** Returns false if the bytes are not an object. If the line has no call, `call.id` is empty. */
function readWhole(bytes: Buffer, start: number, end: number, call: Call): boolean {
  call.id = "";
  const behind = readObject(bytes, start, end, lineKeys, line);
  if (behind < 0 || skipSpace(bytes, behind, end) < end) return false;
  if (isText(bytes, line, 0, "assistant")) {
    if (at(line, 1) >= 0) readAnswer(bytes, line, call, false);
    return true;
  }
  if (at(line, 6) < 0 || !isText(bytes, line, 0, "progress")) return true;
  findKeys(bytes, at(line, 6), at(line, 6, 1), progressKeys, progress);
  if (!isText(bytes, progress, 0, "agent_progress") || at(progress, 1) < 0) return true;
  findKeys(bytes, at(progress, 1), at(progress, 1, 1), lineKeys, inner);
  if (at(inner, 1) >= 0) readAnswer(bytes, inner, call, true);
  return true;
}

/** Reads the message at `own`. If a field is missing, for example the time, the line around the message gives it. */
function readAnswer(bytes: Buffer, own: Int32Array, call: Call, isSide: boolean): void {
  findKeys(bytes, at(own, 1), at(own, 1, 1), messageKeys, message);
  if (at(message, 2) < 0 || bytes[at(message, 2)] !== 0x7b || isText(bytes, message, 1, "<synthetic>")) return;
  call.id = text(bytes, message, 0) || text(bytes, own, 4) || text(bytes, line, 4);
  call.requestId = text(bytes, own, 2) || text(bytes, line, 2);
  call.model = text(bytes, message, 1);
  readCounters(bytes, at(message, 2), at(message, 2, 1), call.numbers);
  const time = at(own, 3) >= 0 ? own : line;
  call.numbers[column.time] = at(time, 3) < 0 ? 0 : timeAt(bytes, at(time, 3) + 1, at(time, 3, 1) - 1);
  if (call.id.startsWith(SUM)) call.numbers[column.flags] = (call.numbers[column.flags] ?? 0) | 4;
  if (isSide || bytes[at(line, 5)] === 0x74) call.numbers[column.flags] = (call.numbers[column.flags] ?? 0) | 2;
}
