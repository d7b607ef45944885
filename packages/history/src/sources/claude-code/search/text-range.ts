/**
 * Finds the part of a line that may contain searchable text.
 *
 * Words such as `uuid`, `role` and `cwd` are keys in every line. With this range, a search for such a word parses only
 * the lines that have the word in a text.
 */
import { skipString, skipValue } from "../../../scan/json-scan.ts";
import { newPeek, peekLine } from "../format/peek-line.ts";
import { isUnsearched } from "./line-texts.ts";

export interface TextRange {
  from: number;
  until: number;
}

const peek = newPeek();
const contentKey = Buffer.from('"content":');
/** Keys that follow the content of an answer, in the order of the line. */
const endKeys = [',"stop_reason":', ',"usage":'].map((key) => Buffer.from(key));
const resultKey = Buffer.from(',"toolUseResult":');
/** Keys of a block. Their values are not searched, for example the id of a call in the call's result. */
const callKey = Buffer.from('"tool_use_id":"');
const blockKeys = ['"type":"', '"id":"'].map((key) => Buffer.from(key));
const toolResult = Buffer.from('"type":"tool_result"');

/** Fills `range` with the part of the line `[start, end)` that may have text. */
export function textRangeOf(bytes: Buffer, start: number, end: number, range: TextRange): void {
  range.from = start;
  range.until = end;
  // A damaged line is searched as a whole. If only a nested value is damaged, the beginning of the line is not
  // searched.
  if (!peekLine(bytes, start, end, peek)) return;
  const type = bytes.toString("latin1", peek.typeStart, peek.typeEnd);
  if (isUnsearched(type)) range.until = start;
  const { nestedAt, tailAt } = peek;
  if (nestedAt < 0 || tailAt < 0) return;
  if (type === "attachment" || type === "progress") {
    range.from = nestedAt;
    range.until = tailAt;
  }
  if (type !== "user" && type !== "assistant") return;
  // Searching `bytes` without a limit could continue after the line, through the whole region.
  const content = bytes.subarray(nestedAt, tailAt).indexOf(contentKey);
  range.from = content < 0 ? nestedAt : insideBlock(bytes, nestedAt + content + contentKey.length, tailAt);
  range.until = type === "user" ? beforeResult(bytes, range.from, tailAt) : afterContent(bytes, range.from, tailAt);
}

/** Returns the position after the type and the ids of the first content block. */
function insideBlock(bytes: Buffer, content: number, until: number): number {
  if (bytes[content] !== 0x5b || bytes[content + 1] !== 0x7b) return content;
  let at = content + 2;
  let hasCall = false;
  let isResult = false;
  for (;;) {
    const key = isAt(bytes, at, callKey) ? callKey : blockKeys.find((known) => isAt(bytes, at, known));
    if (key === undefined) return hasCall && !isResult ? content : at;
    hasCall ||= key === callKey;
    isResult ||= isAt(bytes, at, toolResult);
    const end = skipString(bytes, at + key.length - 1, until);
    // If the block ends here, it has no other fields. Another block may follow.
    if (end < 0 || bytes[end] !== 0x2c) return content;
    at = end + 1;
  }
}

function isAt(bytes: Buffer, at: number, wanted: Buffer): boolean {
  for (let i = 0; i < wanted.length; i += 1) if (bytes[at + i] !== wanted[i]) return false;
  return true;
}

/**
 * Returns the end of a user line's message if `toolUseResult` follows, Claude Code's copy of the tool result. If not,
 * returns `until`.
 */
function beforeResult(bytes: Buffer, from: number, until: number): number {
  const found = bytes.subarray(from, until).lastIndexOf(resultKey);
  if (found < 0) return until;
  let at = from + found;
  // The loop goes back over plain pairs, such as the uuid and the time, to the end of the message.
  while (bytes[at - 1] === 0x22) {
    const value = bytes.lastIndexOf(0x22, at - 2);
    const key = bytes[value - 1] === 0x3a && bytes[value - 2] === 0x22 ? bytes.lastIndexOf(0x22, value - 3) : -1;
    if (key <= from || bytes[key - 1] !== 0x2c) return until;
    at = key - 1;
  }
  // The message ends with its content, which is a list of blocks or a text.
  const isMessage = bytes[at - 1] === 0x7d && (bytes[at - 2] === 0x5d || bytes[at - 2] === 0x22);
  return isMessage && at > from ? at : until;
}

/**
 * Returns the end of an answer's content if the stop reason or the usage follows it and the message is the last nested
 * value. If not, returns `until`.
 */
function afterContent(bytes: Buffer, from: number, until: number): number {
  for (const key of endKeys) {
    const at = bytes.subarray(from, until).lastIndexOf(key);
    if (at >= 0 && endOfPairs(bytes, from + at, until) === until) return from + at;
  }
  return until;
}

/**
 * Returns the end of the object that contains the pairs after `from`, or -1. The input of a tool may have the same
 * keys. The keys belong to the message only if their object ends where the message ends.
 */
function endOfPairs(bytes: Buffer, from: number, until: number): number {
  let at = from;
  while (bytes[at] === 0x2c) {
    const colon = skipString(bytes, at + 1, until);
    if (colon < 0 || bytes[colon] !== 0x3a) return -1;
    at = skipValue(bytes, colon + 1, until);
    if (at < 0) return -1;
  }
  return bytes[at] === 0x7d ? at + 1 : -1;
}
