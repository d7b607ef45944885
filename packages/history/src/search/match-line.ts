import type { Value } from "../model/value.ts";
import type { Query, Span } from "./query.ts";
import { textsOf, type LineText } from "../sources/claude-code/search/line-texts.ts";

/** A match in a line, before its session is looked up. */
export interface FoundText {
  readonly kind: LineText["kind"];
  readonly toolName: string | undefined;
  readonly match: string;
  /** The line number within the text, starting at 1. */
  readonly lineNumber: number;
  readonly context: readonly string[];
  readonly score: number;
}

export interface TextFilter {
  readonly role?: "user" | "assistant" | "human" | undefined;
  readonly tool?: string | undefined;
}

/** Prompts and answers come first, because tool output often repeats their text. */
export const weights: Readonly<Record<LineText["kind"], number>> = {
  prompt: 5,
  text: 4,
  tool_use: 2,
  thinking: 2,
  tool_result: 1,
  other: 0.5,
};

const longestLine = 2000;

/** Finds the matches in a record. If the record contains all terms, every line of its texts with a term is a match. */
export function matchLine(line: Value, query: Query, filter: TextFilter, context: number): readonly FoundText[] {
  if (!isWantedRole(line, filter.role)) return [];
  const texts = textsOf(line).filter((text) => isWantedText(text, filter));
  const spans = texts.map(({ text }) => query.terms.map((term) => term.find(text)));
  const isWhole = query.terms.every((_, term) => spans.some((found) => (found[term]?.length ?? 0) > 0));
  if (!isWhole) return [];
  return texts.flatMap((text, at) => placesIn(text, spans[at] ?? [], context));
}

function isWantedRole(line: Value, role: TextFilter["role"]): boolean {
  if (role === undefined) return true;
  return role === "human" ? line["type"] === "user" || line["type"] === "attachment" : line["type"] === role;
}

function isWantedText({ kind, toolName }: LineText, { role, tool }: TextFilter): boolean {
  if (role === "human" && kind !== "prompt") return false;
  return tool === undefined || toolName?.toLowerCase() === tool.toLowerCase();
}

function placesIn(source: LineText, found: readonly (readonly Span[])[], context: number): readonly FoundText[] {
  const { text, kind, toolName } = source;
  const byLine = new Map<number, { span: Span; terms: Set<number> }>();
  const starts = lineStarts(text, found);
  found.forEach((spans, term) => {
    for (const span of spans) {
      const line = lineAt(starts, span.start);
      const known = byLine.get(line);
      if (known) known.terms.add(term);
      else byLine.set(line, { span, terms: new Set([term]) });
    }
  });
  if (byLine.size === 0) return [];
  const lines = text.split("\n");
  return [...byLine]
    .sort(([a], [b]) => a - b)
    .map(([line, { span, terms }]) => ({
      kind,
      toolName,
      match: text.slice(span.start, span.end),
      lineNumber: line + 1,
      context: lines.slice(Math.max(0, line - context), line + context + 1).map((part) => cut(part, longestLine)),
      score: weights[kind] + terms.size + (isWholeWord(text, span) ? 0.5 : 0),
    }));
}

function lineStarts(text: string, found: readonly (readonly Span[])[]): readonly number[] {
  if (found.every((spans) => spans.length === 0)) return [];
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

function lineAt(starts: readonly number[], place: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

function isWholeWord(text: string, { start, end }: Span): boolean {
  return !/\w/.test(text.charAt(start - 1)) && !/\w/.test(text.charAt(end));
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}
