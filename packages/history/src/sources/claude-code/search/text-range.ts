/**
 * Finds the part of a line that has searchable text, from its bytes. Words such as `uuid`, `role` and `cwd` are keys in every line;
 * a search for one of them parses only lines that have it in a text. The range may contain more than the texts, but never less.
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
/** Keys that follow the content of an answer, the earlier one first. */
const endKeys = [',"stop_reason":', ',"usage":'].map((key) => Buffer.from(key));
const resultKey = Buffer.from(',"toolUseResult":');
/** Keys of a block whose values are not searched. The id of a call is not searched in the call's result. */
const callKey = Buffer.from('"tool_use_id":"');
const blockKeys = ['"type":"', '"id":"'].map((key) => Buffer.from(key));
const toolResult = Buffer.from('"type":"tool_result"');

/** Fills `range` with the part of the line `[start, end)` that may have text. */
export function textRangeOf(bytes: Buffer, start: number, end: number, range: TextRange): void {
  range.from = start;
  range.until = end;
  // A damaged line is searched as a whole. If only the line's nested values are damaged, this is not noticed here, and the
  // beginning of the line is not searched.
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
  // The search for the key ends with the line. Otherwise it would go on through the whole region if the line has no such
  // key.
  const content = bytes.subarray(nestedAt, tailAt).indexOf(contentKey);
  range.from = content < 0 ? nestedAt : insideBlock(bytes, nestedAt + content + contentKey.length, tailAt);
  range.until = type === "user" ? beforeResult(bytes, range.from, tailAt) : afterContent(bytes, range.from, tailAt);
}

/** The position after the type and the ids of the first content block. */
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
    // A block that ends here has no other fields, and another block may follow.
    if (end < 0 || bytes[end] !== 0x2c) return content;
    at = end + 1;
  }
}

function isAt(bytes: Buffer, at: number, wanted: Buffer): boolean {
  for (let i = 0; i < wanted.length; i += 1) if (bytes[at + i] !== wanted[i]) return false;
  return true;
}

/** The end of the message of a user line, if Claude Code's own copy of the tool result follows; otherwise `until`. */
function beforeResult(bytes: Buffer, from: number, until: number): number {
  const found = bytes.subarray(from, until).lastIndexOf(resultKey);
  if (found < 0) return until;
  let at = from + found;
  // Goes back over plain pairs, such as the uuid and the time, to the end of the message.
  while (bytes[at - 1] === 0x22) {
    const value = bytes.lastIndexOf(0x22, at - 2);
    const key = bytes[value - 1] === 0x3a && bytes[value - 2] === 0x22 ? bytes.lastIndexOf(0x22, value - 3) : -1;
    if (key <= from || bytes[key - 1] !== 0x2c) return until;
    at = key - 1;
  }
  // The message ends with its content: a list of blocks, or a text.
  const isMessage = bytes[at - 1] === 0x7d && (bytes[at - 2] === 0x5d || bytes[at - 2] === 0x22);
  return isMessage && at > from ? at : until;
}

/** The end of an answer's content, if its stop reason or its usage follows and the message is the last nested value; otherwise `until`. */
function afterContent(bytes: Buffer, from: number, until: number): number {
  for (const key of endKeys) {
    const at = bytes.subarray(from, until).lastIndexOf(key);
    if (at >= 0 && endOfPairs(bytes, from + at, until) === until) return from + at;
  }
  return until;
}

/**
 * The end of the object that contains the pairs after `from`, or -1. A tool's input may have the same keys. The keys belong to
 * the message only if the object around them ends where the message ends.
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
