/** Matches text literals, quoted names and comments. A call or a semicolon inside them has no effect. */
export const LITERAL_OR_COMMENT =
  /(?<!\w)[eE]'(?:[^'\\]|\\[^]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[^]*?\*\/|\$(\w*)\$[^]*?\$\1\$/y;
/** Matches a text literal, a quoted name or a comment without an end. */
const UNFINISHED = /(?<!\w)[eE]'(?:[^'\\]|\\[^]|'')*$|'(?:[^']|'')*$|"(?:[^"]|"")*$|\/\*[^]*$|\$(\w*)\$[^]*$/y;

interface Statements {
  /**
   * The statements. Line breaks before a statement keep its line number in the text, so errors have the right line
   * number.
   */
  readonly whole: readonly string[];
  /** The text after the last semicolon. */
  readonly rest: string;
}

/** Splits a text at the semicolons that end statements. */
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
    at += lengthAt(LITERAL_OR_COMMENT, sql, at) ?? lengthAt(UNFINISHED, sql, at) ?? 1;
  }
  return { whole: whole.filter(isStatement), rest: piece(start, sql.length) };

  function piece(from: number, to: number): string {
    return "\n".repeat(lines) + sql.slice(from, to);
  }
}

/** Returns all statements of a text. The last statement needs no semicolon. */
export function statementsOf(sql: string): readonly string[] {
  const { whole, rest } = splitStatements(sql);
  return isStatement(rest) ? [...whole, rest] : whole;
}

/** Returns the comment before a statement. */
export function commentOf(sql: string): string {
  const lines = /^\s*((?:--[^\n]*\n\s*)*)/.exec(sql)?.[1] ?? "";
  return lines.replaceAll(/^\s*--[ \t]*/gm, "").trim();
}

/** Whether a text contains more than spaces and comments. */
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
