import type { Column, SqlResult, Value } from "@skein/sql";
import { visible, visibleJson, visibleLine } from "../../terminal/visible.ts";

/** How an answer can be written. */
export const FORMATS = ["table", "box", "json", "jsonl", "csv", "markdown"] as const;
export type Format = (typeof FORMATS)[number];

/** The answer as text, ready for a terminal: what the data hold does nothing to it. */
export function formatted(result: SqlResult, format: Format, columns: number): string {
  switch (format) {
    case "json":
      return `[${result.rows.map((_, at) => visibleJson(objectOf(result, at))).join(",\n ")}]\n`;
    case "jsonl":
      return result.rows.map((_, at) => `${visibleJson(objectOf(result, at))}\n`).join("");
    case "csv":
      return [result.columns.map(({ name }) => name), ...result.rows]
        .map((row) => `${row.map(csvCell).join(",")}\r\n`)
        .join("");
    case "markdown":
      return markdown(result);
    case "table":
      return lined(result, columns, { edge: "", between: "  ", rule: "" });
    case "box":
      return lined(result, columns, { edge: "│", between: " │ ", rule: "─" });
  }
}

/** Two columns of one name would lose one: the second is numbered. */
function objectOf({ columns, rows }: SqlResult, at: number): Record<string, Value> {
  const row: Record<string, Value> = {};
  for (const [place, name] of namesOf(columns).entries()) row[name] = rows[at]?.[place] ?? null;
  return row;
}

function namesOf(columns: readonly Column[]): readonly string[] {
  const used = new Set<string>();
  return columns.map(({ name }) => {
    let unique = name;
    for (let n = 1; used.has(unique); n += 1) unique = `${name}_${n}`;
    used.add(unique);
    return unique;
  });
}

function textOf(value: Value): string {
  if (value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A spreadsheet would run a cell that begins like a formula; numbers are no formulas. */
function csvCell(value: Value): string {
  const text = visible(textOf(value));
  const safe = typeof value !== "number" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function markdown({ columns, rows }: SqlResult): string {
  const cell = (value: Value): string => visibleLine(textOf(value)).replaceAll("\\", "\\\\").replaceAll("|", "\\|");
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;
  return [
    line(columns.map(({ name }) => cell(name))),
    line(columns.map(({ type }) => (isNumber(type) ? "---:" : "---"))),
    ...rows.map((row) => line(row.map(cell))),
  ].join("");
}

interface Lines {
  readonly edge: string;
  readonly between: string;
  readonly rule: string;
}

function lined({ columns, rows }: SqlResult, width: number, { edge, between, rule }: Lines): string {
  const most = Math.max(20, Math.floor(width / Math.min(3, Math.max(1, columns.length))));
  const shown = [columns.map(({ name }) => name), ...rows].map((row) => row.map((value) => cut(textOf(value), most)));
  const widths = columns.map((_, at) => Math.max(...shown.map((row) => Array.from(row[at] ?? "").length)));
  const inside = (row: readonly string[]): string =>
    row
      .map((text, at) => {
        const space = " ".repeat((widths[at] ?? 0) - Array.from(text).length);
        return isNumber(columns[at]?.type ?? "") ? space + text : text + space;
      })
      .join(between);
  if (rule === "") return shown.map((row) => `${inside(row).trimEnd()}\n`).join("");
  const border = (left: string, middle: string, right: string): string =>
    `${left}${widths.map((each) => rule.repeat(each + 2)).join(middle)}${right}\n`;
  const [head = [], ...body] = shown;
  return [
    border("┌", "┬", "┐"),
    `${edge} ${inside(head)} ${edge}\n`,
    border("├", "┼", "┤"),
    ...body.map((row) => `${edge} ${inside(row)} ${edge}\n`),
    border("└", "┴", "┘"),
  ].join("");
}

function cut(text: string, most: number): string {
  const characters = Array.from(visibleLine(text.slice(0, most * 2)));
  return characters.length <= most && text.length <= most * 2
    ? characters.join("")
    : `${characters.slice(0, most - 1).join("")}…`;
}

function isNumber(type: string): boolean {
  return /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL.*)$/.test(type);
}
