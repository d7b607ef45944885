/** Texts, quoted names and comments: what stands in them is no call and no end of a statement. */
export const QUIET =
  /(?<!\w)[eE]'(?:[^'\\]|\\[^]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[^]*?\*\/|\$(\w*)\$[^]*?\$\1\$/y;
const OPEN = /(?<!\w)[eE]'(?:[^'\\]|\\[^]|'')*$|'(?:[^']|'')*$|"(?:[^"]|"")*$|\/\*[^]*$|\$(\w*)\$[^]*$/y;

export interface Statements {
  /** Each with blank lines in front, so that an error names the line of the whole text. */
  readonly whole: readonly string[];
  /** What follows the last semicolon. */
  readonly rest: string;
}

/** Takes statements apart at their semicolons. */
export function splitStatements(sql: string): Statements {
  const whole: string[] = [];
  let start = 0;
  let lines = 0;
  for (let at = 0; at < sql.length;) {
    if (sql[at] === ";") {
      whole.push(piece(start, at));
      lines += linesIn(sql.slice(start, at));
      start = at + 1;
    }
    at += lengthAt(QUIET, sql, at) ?? lengthAt(OPEN, sql, at) ?? 1;
  }
  return { whole: whole.filter(isStatement), rest: piece(start, sql.length) };

  function piece(from: number, to: number): string {
    return "\n".repeat(lines) + sql.slice(from, to);
  }
}

/** Every statement of a text, whether the last one ends with a semicolon or not. */
export function statementsOf(sql: string): readonly string[] {
  const { whole, rest } = splitStatements(sql);
  return isStatement(rest) ? [...whole, rest] : whole;
}

/** More than blanks and comments. */
export function isStatement(sql: string): boolean {
  return sql.replaceAll(/--[^\n]*|\/\*[^]*?\*\//g, "").trim() !== "";
}

function lengthAt(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length;
}

function linesIn(text: string): number {
  return text.split("\n").length - 1;
}
