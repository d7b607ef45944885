import { visibleJson } from "./visible-text.ts";

/** The approximate length of a piece, in characters. */
const pieceLength = 64 * 1024;

/**
 * Yields the text of `visibleJson` in pieces, so the text of a large document is never in memory as a whole. Objects and
 * lists are split to a depth of two.
 */
export function* jsonPieces(value: unknown, indent: number): Generator<string> {
  let piece = "";
  for (const part of partsOf(value, indent, "\n", 2)) {
    piece += part;
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = "";
  }
  yield piece;
}

/** Yields the text of a value in parts. `lineFeed` is a line break followed by the indent of the value. */
// oxlint-disable-next-line max-params
function* partsOf(value: unknown, indent: number, lineFeed: string, depth: number): Generator<string> {
  const isList = Array.isArray(value);
  const members = isList ? value.map((item: unknown) => ["", item] as const) : membersOf(value);
  if (depth === 0 || indent === 0 || !members || members.length === 0) {
    yield visibleJson(value, indent).replaceAll("\n", lineFeed);
    return;
  }
  const inner = lineFeed + " ".repeat(indent);
  let before = isList ? "[" : "{";
  for (const [key, member] of members) {
    yield `${before}${inner}${isList ? "" : `${visibleJson(key)}: `}`;
    yield* partsOf(isList ? (member ?? null) : member, indent, inner, depth - 1);
    before = ",";
  }
  yield `${lineFeed}${isList ? "]" : "}"}`;
}

/** Returns the members that JSON writes for a plain object. Returns undefined for any other value. */
function membersOf(value: unknown): readonly (readonly [string, unknown])[] | undefined {
  if (typeof value !== "object" || value === null || "toJSON" in value) return undefined;
  return Object.entries(value).filter(([, member]) => !["undefined", "function", "symbol"].includes(typeof member));
}
