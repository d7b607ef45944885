import { visible } from "./visible-text.ts";

/** Characters that take two columns. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

/** Returns the width of the widest line in columns. */
export function widthOf(text: string): number {
  let widest = 0;
  for (const line of text.split("\n")) {
    // oxlint-disable-next-line no-control-regex
    if (/^[\x20-\x7e]*$/.test(line)) widest = Math.max(widest, line.length);
    else {
      let width = 0;
      for (const char of line) width += /\p{M}|\u200d|\ufe0f/u.test(char) ? 0 : wide.test(char) ? 2 : 1;
      widest = Math.max(widest, width);
    }
  }
  return widest;
}

/**
 * Cuts a line that is wider than `columns`. A line that is cut ends with an ellipsis. The line must already be escaped
 * with `visible`.
 */
export function cut(line: string, columns: number, isPart = false): string {
  if (!isPart && widthOf(line) <= columns) return line;
  return `${beginning(line, columns - 1)}…`;
}

/** Returns the longest beginning of a line that has at most `columns` columns. */
export function beginning(line: string, columns: number): string {
  let kept = "";
  let width = 0;
  for (const char of line) {
    width += widthOf(char);
    if (width > columns) break;
    kept += char;
  }
  return kept;
}

/** Escapes a text, and turns it into one line of at most `columns` columns. Line breaks and tabs become spaces. */
export function shorten(text: string, columns: number): string {
  const read = text.slice(0, columns * 4 + 100);
  return cut(visible(read.replaceAll(/\s+/g, " ")).trim(), columns, read.length < text.length);
}

/** Pads a text with spaces to a width. */
export function padded(cell: string, width: number, align: "left" | "right" = "left"): string {
  const blank = " ".repeat(Math.max(0, width - widthOf(cell)));
  return align === "right" ? blank + cell : cell + blank;
}
