/**
 * Text that is safe for a terminal.
 *
 * A transcript can contain sequences that move the cursor, write to the clipboard or hide text. `styledText` makes
 * `Styled` text, and escapes its values. `StyledScreen`, which shows transcripts, prints only `Styled` text and no
 * plain strings.
 */
import { visible } from "./visible-text.ts";
import { beginning, widthOf } from "./width.ts";

export interface Styled {
  readonly text: string;
  /** The width in columns, without colours. */
  readonly width: number;
}

export type Piece = string | number | Styled;

/** Builds text from a template, and escapes its values. Example: styledText`${count} sessions in ${path}`. */
export function styledText(own: TemplateStringsArray, ...values: readonly Piece[]): Styled {
  return joined(own.flatMap((text, at) => [styledOwn(text), piece(values[at] ?? "")]));
}

/** Joins pieces, and escapes the plain strings among them. The separator is not escaped. */
export function joined(pieces: readonly Piece[], separator = ""): Styled {
  const all = pieces.map(piece);
  return {
    text: all.map(({ text }) => text).join(separator),
    width: all.reduce((sum, { width }) => sum + width, separator.length * Math.max(0, all.length - 1)),
  };
}

export function piece(value: Piece): Styled {
  if (typeof value === "object") return value;
  const text = visible(String(value));
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
  const inColour =
    (code: string) =>
    (value: Piece): Styled => {
      const plain = piece(value);
      if (!hasColour || plain.text === "") return plain;
      // Each line is coloured separately, because a pager forgets colours at the end of a line.
      const text = plain.text
        .split("\n")
        .map((line) => (line === "" ? line : `\u001B[${code}m${line}\u001B[0m`))
        .join("\n");
      return { text, width: plain.width };
    };
  return {
    bold: inColour("1"),
    dim: inColour("2"),
    red: inColour("31"),
    green: inColour("32"),
    yellow: inColour("33"),
    blue: inColour("34"),
    cyan: inColour("36"),
    mark: inColour("1;7"),
  };
}

/** The colours of `Paint`, for text that is already escaped with `visible`. */
export type TextPaint = { readonly [Name in keyof Paint]: (text: string) => string };

export function createTextPaint(hasColour: boolean): TextPaint {
  const paint = createPaint(hasColour);
  const names = Object.keys(paint) as readonly (keyof Paint)[];
  return Object.fromEntries(names.map((name) => [name, (text: string) => paint[name](text).text])) as TextPaint;
}

/**
 * Escapes a text, and breaks it at spaces into lines of at most `columns` columns. A wider word is split.
 */
export function wrap(value: string, columns: number): readonly string[] {
  return visible(value)
    .replaceAll("\t", "    ")
    .split("\n")
    .flatMap((line) => wrapLine(line, Math.max(columns, WIDEST_CHARACTER)));
}

const WIDEST_CHARACTER = 2;

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
    while (widthOf(current.trimEnd()) > columns) {
      const part = beginning(current, columns);
      lines.push(part);
      current = hanging + current.slice(part.length);
    }
  }
  if (current.trim() !== "") lines.push(current.trimEnd());
  return lines;
}
