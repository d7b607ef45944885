import { LONG, longText } from "./json-size.ts";

/** A long string is written in pieces of this many characters. */
const PIECE = 256 * 1024;

/** A value is written in pieces if its long strings have more characters than this in total. */
const WHOLE = 1024 * 1024;

/** Whether the JSON of a value is so large that it is written in pieces instead of as one string. */
export function isLargeJson(value: unknown): boolean {
  return longText(value) > WHOLE;
}

/**
 * Yields the JSON of a value in pieces. The joined pieces are what `JSON.stringify` returns. No long string is copied
 * as a whole, so each piece is made quickly.
 */
export function* jsonPieces(value: unknown): Generator<string> {
  const long: string[] = [];
  // A random mark, which no text of the value can contain.
  const mark = crypto.randomUUID();
  const withMarks = JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== "string" || part.length <= LONG) return part;
    long.push(part);
    return mark;
  });
  const between = withMarks.split(mark);
  for (const [at, text] of between.entries()) {
    yield text;
    const next = long[at];
    if (next !== undefined) yield* stringPieces(next);
  }
}

const BASE64 = /^[\w+/=]*$/;

/** The content of a JSON string, without its quotes. */
function* stringPieces(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const until = from + PIECE;
    // A piece must not end inside a surrogate pair: half a pair would be written as an escape.
    const to = /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(until - 1, until + 1)) ? until + 1 : until;
    const piece = text.slice(from, to);
    // The contents of files are Base64, which needs no escapes. The check for Base64 takes less than half the time of
    // the escaping.
    yield BASE64.test(piece) ? piece : JSON.stringify(piece).slice(1, -1);
    from = to;
  }
}
