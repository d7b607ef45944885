/**
 * The bytes of a text that every match contains. With them, lines are found before they are parsed.
 *
 * The byte search ignores bit 5 of every byte. So `A` is equal to `a`, `É` to `é`, and `Б` to `б`. Other letters differ
 * in more bits between upper and lower case, and are not part of a literal. Scripts without upper and lower case are
 * searched unchanged. Characters beyond ASCII may be written as escapes such as `\u65e5`, so their literals have
 * several forms. The search has three limits. The character é is not equal to e with a separate accent. The letter K is
 * not equal to the Kelvin sign. A slash is not found if a program wrote it as `\/`.
 */
export interface Literal {
  /** The text in lower case. */
  readonly text: string;
  /** A matching line contains at least one of these byte sequences. */
  readonly forms: readonly Buffer[];
}

/** Characters that JSON escapes, and characters that an encoder for web pages escapes, such as `<` as \u003c. */
// oxlint-disable-next-line no-control-regex
const escaped = /["\\<>&'+\0-\x1f\x7f]/;
const fewestBytes = 2;

/** Returns the longest part of a text that can be found as bytes. Returns undefined if no part can be found. */
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

/** Returns the length of a literal in bytes. A longer literal is usually rarer. */
export function lengthOf({ forms }: Literal): number {
  return forms[0]?.length ?? 0;
}

/** Splits a text at characters that the byte search cannot find in both cases. The parts are in lower case. */
function runsOf(text: string): readonly (readonly string[])[] {
  const runs: string[][] = [[]];
  // The text is changed to lower case character by character, because some letters become two letters.
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

/** Returns a character in upper and lower case. */
function casesOf(char: string): readonly string[] {
  return [...new Set([char, char.toLowerCase(), char.toUpperCase()])];
}

function folded(char: string): Buffer {
  return Buffer.from(char).map((byte) => byte | 0x20) as Buffer;
}

/**
 * Makes the forms of a literal. A form begins with the first character beyond ASCII, because a search skips ASCII
 * quickly.
 */
function formsOf(whole: readonly string[]): readonly Buffer[] {
  const begin = whole.findIndex((char) => !isAscii(char));
  if (begin < 0) return [Buffer.from(whole.join(""))];
  const run = whole.slice(begin);
  const hasCases = run.some((char) => !isAscii(char) && casesOf(char).length > 1);
  // The escapes of a letter in upper and lower case have different digits. So the form has only the first character, in
  // both cases.
  const others = hasCases
    ? inOne(casesOf(run[0] ?? "").map(asEscapes))
    : [run.map((char) => (isAscii(char) ? char : asEscapes(char))).join("")];
  const longest = longestAscii(whole);
  // Two escapes need two more searches. A few ASCII letters of the literal find nearly the same lines.
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
 * Replaces several escapes by their common beginning if it is rare, such as `\\u04` for a Cyrillic letter. `\\u00` is
 * not rare, because escapes of control characters begin with it.
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
