/**
 * Characters that can hide, reorder or overwrite the text around them. They change the text direction, have no width,
 * or control a terminal. In texts of models and tools, the console shows the codes of these characters.
 */
const HIDDEN =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B-\u200F\u202A-\u202E\u2060-\u2064\u2066-\u2069\uFEFF]|[\u{E0000}-\u{E007F}]/gu;

/** The invisible character that joins two emoji into one. It is harmless between emoji. */
const JOINER = "\u200D";

export function visible(text: string): string {
  return text.replace(HIDDEN, (character, at: number) => {
    if (character === JOINER && isBetweenPictures(text, at)) return character;
    return `⟨${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** Like `visible`, for a text in one line: each line break becomes a space. */
export function visibleLine(text: string): string {
  return visible(text.replace(/\s*[\r\n\u2028\u2029]+\s*/g, " "));
}

function isBetweenPictures(text: string, at: number): boolean {
  return (
    /\p{Extended_Pictographic}\uFE0F?[\u{1F3FB}-\u{1F3FF}]?$/u.test(text.slice(Math.max(0, at - 6), at)) &&
    /^\p{Extended_Pictographic}/u.test(text.slice(at + 1, at + 4))
  );
}

export function textValue(value: unknown, otherwise = ""): string {
  return typeof value === "string" ? value : otherwise;
}

/** Longer lines are cut, because browsers are slow with very long lines. */
const LONGEST_LINE = 4000;

/** The lines of a text, each cut to LONGEST_LINE. */
export function shownLines(text: string): readonly string[] {
  return text.split("\n").map(shownLine);
}

export function shownLine(line: string): string {
  if (line.length <= LONGEST_LINE) return line;
  return `${line.slice(0, LONGEST_LINE)} … ${(line.length - LONGEST_LINE).toLocaleString("en-US")} more characters`;
}
