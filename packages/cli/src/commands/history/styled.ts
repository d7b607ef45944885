/**
 * Text that is fit for a terminal.
 *
 * A transcript can hold anything, also sequences that move the cursor, write the clipboard or hide text. So nothing is
 * printed as a plain string: `t` makes `Styled` text and escapes what is put into it, and the screen takes nothing else.
 */
import { visible } from "../../terminal/visible.ts";
import { widthOf } from "../../terminal/width.ts";

export interface Styled {
  readonly text: string;
  /** How many columns it takes, without colours. */
  readonly width: number;
}

export type Piece = string | number | Styled;

/** Text of our own with escaped values in it: t`${count} sessions in ${path}`. */
export function t(own: TemplateStringsArray, ...values: readonly Piece[]): Styled {
  return joined(own.flatMap((text, at) => [styledOwn(text), piece(values[at] ?? "")]));
}

/** Pieces one after the other. */
export function joined(pieces: readonly Piece[], separator = ""): Styled {
  const all = pieces.map(piece);
  return {
    text: all.map(({ text }) => text).join(separator),
    width: all.reduce((sum, { width }) => sum + width, separator.length * Math.max(0, all.length - 1)),
  };
}

export function piece(value: Piece): Styled {
  if (typeof value === "object") return value;
  const text = escapeControls(String(value));
  return { text, width: widthOf(text) };
}

function styledOwn(text: string): Styled {
  return { text, width: widthOf(text) };
}

export interface Paint {
  bold(value: Piece): Styled;
  dim(value: Piece): Styled;
  red(value: Piece): Styled;
  green(value: Piece): Styled;
  yellow(value: Piece): Styled;
  blue(value: Piece): Styled;
  cyan(value: Piece): Styled;
  mark(value: Piece): Styled;
}

export function createPaint(hasColour: boolean): Paint {
  const with_ =
    (code: string) =>
    (value: Piece): Styled => {
      const plain = piece(value);
      if (!hasColour || plain.text === "") return plain;
      // Every line on its own: a pager forgets colours at the end of a line.
      const text = plain.text
        .split("\n")
        .map((line) => (line === "" ? line : `\u001B[${code}m${line}\u001B[0m`))
        .join("\n");
      return { text, width: plain.width };
    };
  return {
    bold: with_("1"),
    dim: with_("2"),
    red: with_("31"),
    green: with_("32"),
    yellow: with_("33"),
    blue: with_("34"),
    cyan: with_("36"),
    mark: with_("1;7"),
  };
}

/** Makes characters visible that would act on a terminal or hide something from its reader. */
export const escapeControls = visible;

/** JSON that is safe to look at: the same value, with such characters written as JSON's own escapes. */
export function safeJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, undefined, indent) ?? "null";
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[^\x20-\x7e\n]/gu, (char) => (visible(char) === char ? char : jsonEscape(char)));
}

function jsonEscape(char: string): string {
  return Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`).join(
    "",
  );
}

/** At most so many columns, with an ellipsis where something is missing; one line. */
export function shorten(value: string, columns: number): string {
  const text = escapeControls(value.slice(0, columns * 4 + 100).replaceAll(/\s+/g, " ")).trim();
  if (widthOf(text) <= columns) return text;
  let kept = "";
  let width = 0;
  for (const char of text) {
    width += widthOf(char);
    if (width > columns - 1) break;
    kept += char;
  }
  return `${kept}…`;
}

/** Breaks lines at spaces so that they fit. Text without spaces is cut. */
export function wrap(value: string, columns: number): readonly string[] {
  return escapeControls(value)
    .replaceAll("\t", "    ")
    .split("\n")
    .flatMap((line) => wrapLine(line, columns));
}

function wrapLine(line: string, columns: number): readonly string[] {
  if (!Number.isFinite(columns) || widthOf(line) <= columns) return [line];
  const indent = /^\s*(?:[-*+] |\d+[.)] )?/.exec(line)?.[0] ?? "";
  const hanging = indent.length < columns / 2 ? " ".repeat(indent.length) : "";
  const lines: string[] = [];
  let current = "";
  for (const word of line.split(/(?<=\s)/)) {
    if (current.trim() !== "" && widthOf(current) + widthOf(word.trimEnd()) > columns) {
      lines.push(current.trimEnd());
      current = hanging;
    }
    current += word;
    while (widthOf(current.trimEnd()) > columns && current.length > columns) {
      lines.push(current.slice(0, columns));
      current = hanging + current.slice(columns);
      if (hanging.length >= columns) break;
    }
  }
  if (current.trim() !== "") lines.push(current.trimEnd());
  return lines;
}
