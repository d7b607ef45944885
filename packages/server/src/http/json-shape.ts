/** Limits of the structure of a JSON body. */
export interface Shape {
  /** The maximum depth of nesting. Real messages have fewer levels, and the stack allows many more. */
  readonly depth: number;
  /**
   * The maximum number of entries of one object or list. Half a million unknown properties would block the server for a
   * second.
   */
  readonly entries: number;
  /** The maximum number of values in total. */
  readonly values: number;
}

export const BODY_SHAPE: Shape = { depth: 200, entries: 10_000, values: 200_000 };
/** The limits of an imported log, which may be long. Only admin keys can send one. */
export const LOG_SHAPE: Shape = { depth: 200, entries: 200_000, values: Number.POSITIVE_INFINITY };

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const OPENING = [91, 123];
const CLOSING = [93, 125];

/**
 * Checks the bytes of a JSON body piece by piece, before parsing. Returns a sentence about the first exceeded limit.
 * After such a sentence, and for bytes that are not JSON, results mean nothing.
 */
export function createShapeCheck({ depth, entries, values }: Shape): (piece: Uint8Array) => string | undefined {
  let level = 0;
  let all = 1;
  let inString = false;
  let escaped = false;
  const counts: number[] = [];

  return (piece) => {
    for (let at = 0; at < piece.length; at++) {
      let byte = piece[at] as number;
      if (inString) {
        // Skips the inside of strings in one loop, because most bytes of a large body are there.
        if (!escaped) while (byte !== QUOTE && byte !== BACKSLASH && ++at < piece.length) byte = piece[at] as number;
        if (at === piece.length) return undefined;
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else inString = false;
      } else if (byte === QUOTE) inString = true;
      else if (byte === COMMA) {
        const count = (counts[level] ?? 0) + 1;
        counts[level] = count;
        all += 1;
        // The last entry has no comma after it, so there is one comma fewer than entries.
        if (count >= entries) return `An object or a list of the body has more than ${entries} entries.`;
        if (all > values) return `The body has more than ${values} values.`;
      } else if (OPENING.includes(byte)) {
        level += 1;
        all += 1;
        counts[level] = 0;
        if (level > depth) return `The body is nested deeper than ${depth} levels.`;
      } else if (CLOSING.includes(byte)) level -= 1;
    }
    return undefined;
  };
}
