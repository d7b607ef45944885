/**
 * A text that every match contains, as bytes, so that lines can be found before they are parsed.
 *
 * The byte search ignores bit 5 of every byte. That makes `A` and `a` equal, and also `É` and `é`, `Б` and `б`; other letters have
 * cases with different bytes, and a literal does not contain them. Scripts without cases are searched as they are. An
 * encoder may have written characters beyond ASCII as `\u65e5`, so a literal with such characters has several forms.
 */
export interface Literal {
  /** The line contains one of these. */
  readonly forms: readonly Buffer[];
}

/** Characters that an encoder for web pages writes as \u003c, and those that JSON itself escapes. */
// oxlint-disable-next-line no-control-regex
const escaped = /["\\<>&'+\0-\x1f\x7f]/;
const fewestBytes = 2;

/** The longest part of a text that can be found as bytes; undefined if there is none. */
export function literalOf(text: string): Literal | undefined {
  let best: readonly string[] = [];
  let bestBytes = fewestBytes - 1;
  for (const run of runsOf(text)) {
    const bytes = Buffer.byteLength(run.join(""));
    if (bytes <= bestBytes) continue;
    best = run;
    bestBytes = bytes;
  }
  return best.length === 0 ? undefined : { forms: formsOf(best) };
}

/** How many bytes of a line the literal decides, in its shortest form: a longer literal is usually rarer. */
export function lengthOf({ forms }: Literal): number {
  return Math.min(...forms.map(({ length }) => length));
}

/** The runs of characters whose cases have the same bytes for the byte search, in lower case. */
function runsOf(text: string): readonly (readonly string[])[] {
  const runs: string[][] = [[]];
  // Character by character: some letters become two in lower case.
  for (const char of text) {
    if (isSearchable(char)) runs.at(-1)?.push(char.toLowerCase());
    else runs.push([]);
  }
  return runs;
}

function isSearchable(char: string): boolean {
  if (escaped.test(char) || /\s/.test(char) || !char.isWellFormed()) return false;
  const own = folded(char);
  return casesOf(char).every((other) => folded(other).equals(own));
}

/** The spellings that are the same letter for a search. */
function casesOf(char: string): readonly string[] {
  return [...new Set([char, char.toLowerCase(), char.toUpperCase()])];
}

function folded(char: string): Buffer {
  return Buffer.from(char).map((byte) => byte | 0x20) as Buffer;
}

function formsOf(run: readonly string[]): readonly Buffer[] {
  const whole = Buffer.from(run.join(""));
  const first = run.find((char) => !isAscii(char));
  if (first === undefined) return [whole];
  const hasCases = run.some((char) => !isAscii(char) && casesOf(char).length > 1);
  // The hexadecimal digits of two cases differ, so only one character is searched for, in each of its cases.
  const others = hasCases
    ? casesOf(first).map(asEscapes)
    : [run.map((char) => (isAscii(char) ? char : asEscapes(char))).join("")];
  return [whole, ...others.map((other) => Buffer.from(other))];
}

function isAscii(char: string): boolean {
  return (char.codePointAt(0) ?? 0) < 0x80;
}

function asEscapes(text: string): string {
  return Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join(
    "",
  );
}
