import type { TextPaint } from "./styled.ts";
import { widthOf } from "./width.ts";

/**
 * Formats Markdown for a terminal word by word, while the text arrives, and breaks lines at the terminal's width. The
 * text must already be escaped with `visible`.
 */
export interface MarkdownWriter {
  push(text: string): string;
  /** Ends the text. Returns the rest, which `push` has not returned yet. */
  end(): string;
}

export interface MarkdownOptions {
  readonly columns: number;
  readonly paint: TextPaint;
}

/** A part of a word, and its style. */
interface Piece {
  text: string;
  readonly style: Style;
}
type Style = "plain" | "bold" | "code";

/** Matches the beginning of a line that may become a heading, a list item, a quotation or the edge of a code block. */
const OPEN_HEAD = /^ *(#{1,6}|[-*+]|\d{1,3}[.)]?|>|`{1,2}|```[^`]*)?$/;
const FENCE = /^ *```/;

export function createMarkdownWriter({ columns, paint }: MarkdownOptions): MarkdownWriter {
  /** The beginning of the current line. Undefined once it is known whether the line is a heading, list item or text. */
  let head: string | undefined = "";
  let isFenced = false;
  let isHeading = false;
  let style: Style = "plain";
  let hasStar = false;
  let word: Piece[] = [];
  let spaces = "";
  let column = 0;
  let indent = 0;
  let out = "";

  function emit(text: string): void {
    out += text;
    column += widthOf(text);
  }

  function add(text: string): void {
    const last = word.at(-1);
    if (last?.style === style) last.text += text;
    else word.push({ text, style });
  }

  function painted({ text, style: how }: Piece): string {
    if (how === "code") return paint.cyan(text);
    return how === "bold" || isHeading ? paint.bold(text) : text;
  }

  function endWord(): void {
    if (hasStar) add("*");
    hasStar = false;
    if (word.length === 0) return;
    const width = word.reduce((sum, { text }) => sum + widthOf(text), 0);
    if (column + spaces.length + width > columns && column > indent) {
      out += `\n${" ".repeat(indent)}`;
      column = indent;
    } else emit(spaces);
    out += word.map(painted).join("");
    column += width;
    word = [];
    spaces = "";
  }

  function endLine(): void {
    endWord();
    out += "\n";
    head = "";
    style = "plain";
    isHeading = false;
    column = 0;
    indent = 0;
    spaces = "";
  }

  /** Recognises a heading, list item or quotation by its mark. The rest of the line is text. */
  function beginLine(text: string): void {
    head = undefined;
    const [, blank = "", mark = "", rest = ""] = /^( *)(#{1,6} |[-*+] |\d{1,3}[.)] |> ?)?([^]*)$/.exec(text) ?? [];
    if (mark.startsWith("#")) isHeading = true;
    else if (/^[-*+] /.test(mark)) emit(`${blank}• `);
    else if (mark.startsWith(">")) emit(`${blank}${paint.dim("│")} `);
    else emit(blank + mark);
    if (mark.startsWith(">")) column = blank.length + 2;
    indent = column < columns / 2 ? column : 0;
    for (const char of rest) inline(char);
  }

  function inline(char: string): void {
    if (char === "*" && style !== "code") {
      if (hasStar) style = style === "bold" ? "plain" : "bold";
      hasStar = !hasStar;
      return;
    }
    if (hasStar) add("*");
    hasStar = false;
    if (char === "`") style = style === "code" ? "plain" : "code";
    else if (char !== " ") add(char);
    else {
      endWord();
      spaces += " ";
    }
  }

  function fenced(char: string): void {
    if (head === undefined) {
      if (char === "\n") head = "";
      out += char;
      return;
    }
    head += char;
    if (char === "\n" && FENCE.test(head)) {
      isFenced = false;
      head = "";
    } else if (!/^ *`{0,3}$/.test(head)) {
      out += head;
      head = char === "\n" ? "" : undefined;
    }
  }

  function take(char: string): void {
    if (isFenced) return fenced(char);
    if (head === undefined) return char === "\n" ? endLine() : inline(char);
    if (char === "\n") {
      if (FENCE.test(head)) {
        isFenced = true;
        head = "";
        return;
      }
      beginLine(head);
      return endLine();
    }
    head += char;
    if (!OPEN_HEAD.test(head)) beginLine(head);
  }

  function taken(): string {
    const text = out;
    out = "";
    return text;
  }

  return {
    push(text) {
      for (const char of text) take(char);
      return taken();
    },
    end() {
      if (isFenced) {
        if (head !== undefined && !FENCE.test(head)) out += head;
      } else {
        if (head !== undefined && head !== "") beginLine(head);
        endWord();
      }
      isFenced = false;
      head = "";
      style = "plain";
      isHeading = false;
      column = 0;
      indent = 0;
      spaces = "";
      return taken();
    },
  };
}
