/** How good a match can be at most, told from a line's bytes, so that lines that cannot be shown are not parsed. */
import { newPeek, peekLine } from "../format/peek-line.ts";
import { weights } from "../../../search/match-line.ts";
import type { Query } from "../../../search/query.ts";

const wholeWord = 0.5;

/** No match in any line is better than this. */
export function bestScore(query: Query): number {
  return weights.prompt + query.terms.length + wholeWord;
}

const peek = newPeek();
const resultKey = Buffer.from('"tool_use_id"');

/** No match in this line is better than this. */
export function bestScoreIn(bytes: Buffer, start: number, end: number, query: Query): number {
  return bestWeight(bytes, start, end) + query.terms.length + wholeWord;
}

function bestWeight(bytes: Buffer, start: number, end: number): number {
  // What cannot be told from the bytes may be anything.
  if (!peekLine(bytes, start, end, peek)) return weights.prompt;
  const type = bytes.toString("latin1", peek.typeStart, peek.typeEnd);
  if (type === "assistant") return weights.text;
  if (type === "user") {
    const result = bytes.indexOf(resultKey, start);
    // A line with a result is no prompt. Text may stand beside the result.
    return result >= 0 && result < end ? weights.text : weights.prompt;
  }
  return type === "attachment" ? weights.prompt : weights.other;
}
