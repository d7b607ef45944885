/** What JSON may look like. */
export interface Shape {
  /** The most levels: deeper than any message is, and far from where a stack ends. */
  readonly depth: number;
  /** The most entries of one object or list. Checking half a million unknown keys held everybody up for a second. */
  readonly entries: number;
  /** The most values in all. */
  readonly values: number;
}

export const BODY_SHAPE: Shape = { depth: 200, entries: 10_000, values: 200_000 };
/** A log of a session may be long. Only an administrator can send one. */
export const LOG_SHAPE: Shape = { depth: 200, entries: 200_000, values: Number.POSITIVE_INFINITY };

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const OPENING = [91, 123];
const CLOSING = [93, 125];

/**
 * Looks at the bytes of JSON, piece after piece and before anything is made of them. Answers with a sentence about the
 * first thing that is too much; then, or when the bytes are no JSON, what comes after means nothing.
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
        // Most bytes of a large body are passed here.
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
        // The last one has no comma after it.
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
