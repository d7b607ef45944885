/** The best score that a match in a line can have, from the line's bytes, so that lines with a low one are not parsed. */
import { newPeek, peekLine } from "../format/peek-line.ts";
import { weights } from "../../../search/match-line.ts";
import type { Query } from "../../../search/query.ts";

const wholeWord = 0.5;

/** The weight of the best kind of text. */
export const bestWeight = weights.prompt;

/** The best score of a match in a text of this weight. */
export function scoreOf(weight: number, query: Query): number {
  return weight + query.terms.length + wholeWord;
}

const peek = newPeek();
const resultKey = Buffer.from('"tool_use_id"');

/** The weight of the best text that this line can have. */
export function bestWeightIn(bytes: Buffer, start: number, end: number): number {
  // The line's type is not found in its bytes, so it may be a prompt.
  if (!peekLine(bytes, start, end, peek)) return weights.prompt;
  const type = bytes.toString("latin1", peek.typeStart, peek.typeEnd);
  if (type === "assistant") return weights.text;
  if (type === "user") {
    // A line with a tool result is not a prompt, but may have text beside the result.
    return bytes.subarray(start, end).includes(resultKey) ? weights.text : weights.prompt;
  }
  return type === "attachment" ? weights.prompt : weights.other;
}
