/**
 * A text that every match contains, as bytes, so that lines can be found before they are parsed.
 *
 * The byte search ignores bit 5 of every byte. That makes `A` and `a` equal, and also `É` and `é`, `Б` and `б`; other
 * letters have different bytes in upper and lower case, and are not part of a literal. Scripts without upper and lower
 * case are searched unchanged. An encoder may have written characters beyond ASCII as `\u65e5`, so a literal with such
 * characters has several forms. Two limits: é as one character is not equal to é as two,
 * and letters with several lower cases (K and the Kelvin sign) are not equal.
 */
export interface Literal {
  /** The text in lower case. */
  readonly text: string;
  /** A matching line contains at least one of these byte sequences. */
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
  return best.length === 0 ? undefined : { text: best.join(""), forms: formsOf(best) };
}

/** How many bytes of a line the literal covers: a longer literal is usually rarer. */
export function lengthOf({ forms }: Literal): number {
  return forms[0]?.length ?? 0;
}

/** The runs of characters that the byte search finds in either case. The result is in lower case. */
function runsOf(text: string): readonly (readonly string[])[] {
  const runs: string[][] = [[]];
  // The text is changed to lower case character by character, because some letters become two.
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

/** A form with characters beyond ASCII begins with the first of them, so that the byte search can skip ASCII quickly. */
function formsOf(whole: readonly string[]): readonly Buffer[] {
  const begin = whole.findIndex((char) => !isAscii(char));
  if (begin < 0) return [Buffer.from(whole.join(""))];
  const run = whole.slice(begin);
  const hasCases = run.some((char) => !isAscii(char) && casesOf(char).length > 1);
  // A letter has other hexadecimal digits in upper case than in lower case, so only one character is searched for, in
  // both cases.
  const others = hasCases
    ? inOne(casesOf(run[0] ?? "").map(asEscapes))
    : [run.map((char) => (isAscii(char) ? char : asEscapes(char))).join("")];
  const longest = longestAscii(whole);
  // Two escapes would need two more searches. A few letters before them are nearly as selective.
  if (longest.length > 3 && others.length > 1) return [Buffer.from(longest)];
  return [run.join(""), ...others].map((form) => Buffer.from(form));
}

function longestAscii(run: readonly string[]): string {
  const parts = run
    .map((char) => (isAscii(char) ? char : " "))
    .join("")
    .split(" ");
  return parts.reduce((best, part) => (part.length > best.length ? part : best), "");
}

/**
 * Replaces several escapes by their common beginning if it is rare enough: `\\u04` for a Cyrillic letter. `\\u00` is not,
 * because the escapes of control characters begin with it too.
 */
function inOne(escapes: readonly string[]): readonly string[] {
  const [first = "", ...others] = escapes;
  const start = first.slice(0, 4);
  return start !== "\\u00" && others.every((other) => other.startsWith(start)) ? [start] : escapes;
}

function isAscii(char: string): boolean {
  return (char.codePointAt(0) ?? 0) < 0x80;
}

function asEscapes(text: string): string {
  return Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join(
    "",
  );
}
