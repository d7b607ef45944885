/** Finds the best score that a match in a line can have. A search does not parse a line whose best score is too low. */
import { newPeek, peekLine } from "../format/peek-line.ts";
import { weights } from "../../../search/match-line.ts";
import type { Query } from "../../../search/query.ts";

const wholeWord = 0.5;

export const bestWeight = weights.prompt;

/** Returns the best score that a match in a text of this weight can have. */
export function scoreOf(weight: number, query: Query): number {
  return weight + query.terms.length + wholeWord;
}

/** The weight of the best text in a line, and the line's time. The time is Infinity if it is not found in the bytes. */
export interface LineBest {
  weight: number;
  time: number;
}

const peek = newPeek();
const resultKey = Buffer.from('"tool_use_id"');

export function bestIn(bytes: Buffer, start: number, end: number, best: LineBest): void {
  best.weight = weights.prompt;
  best.time = Infinity;
  // If the type of the line is not found in the bytes, the line may be a prompt.
  if (!peekLine(bytes, start, end, peek)) return;
  if (peek.timestampStart >= 0)
    best.time = Date.parse(bytes.toString("latin1", peek.timestampStart, peek.timestampEnd)) || Infinity;
  best.weight = weightOf(bytes.toString("latin1", peek.typeStart, peek.typeEnd), bytes, end);
}

function weightOf(type: string, bytes: Buffer, end: number): number {
  if (type === "assistant") return weights.text;
  if (type === "user") {
    // A line with a tool result is not a prompt, but may have text in addition to the result.
    return bytes.subarray(Math.max(0, peek.nestedAt), end).includes(resultKey) ? weights.text : weights.prompt;
  }
  return type === "attachment" ? weights.prompt : weights.other;
}
