import type { Column, Row, Value } from "@skein/sql";
import { visible, visibleJson, visibleLine } from "../../terminal/visible-text.ts";
import { wrap } from "../../terminal/styled.ts";
import { cut, padded, widthOf } from "../../terminal/width.ts";

/** The formats of an answer. */
export const FORMATS = ["table", "box", "line", "json", "jsonl", "csv", "markdown"] as const;
export type Format = (typeof FORMATS)[number];

/** Formats an answer as text, piece by piece. The text is safe for a terminal. */
export interface Formatter {
  rows(rows: readonly Row[]): string;
  /** The rest of the text after the last row. */
  end(): string;
}

/** Creates a formatter. With `mustFit`, rows that are too wide for a table are shown as lines. */
export function createFormatter(
  format: Format,
  columns: readonly Column[],
  { width, mustFit }: { readonly width: number; readonly mustFit: boolean },
): Formatter {
  const isDrawn = columns[1]?.name === "explain_value" && (format === "table" || format === "box");
  // DuckDB draws a plan as boxes, on many lines.
  if (isDrawn) return plain("", ([, plan = null]) => `${visible(textOf(plan)).trimEnd()}\n`);
  switch (format) {
    case "json":
      return json(columns);
    case "jsonl":
      return plain("", (row) => `${visibleJson(objectOf(columns, row))}\n`);
    case "csv":
      return plain(csvLine(columns.map(({ name }) => name)), csvLine);
    case "markdown":
      return plain(
        markdownLine(columns.map(({ name }) => name)) +
          markdownLine(columns.map(({ type }) => (isNumber(type) ? "---:" : "---"))),
        markdownLine,
      );
    case "line":
      return lineByLine(columns, width);
    case "table":
      return lined(columns, { width, mustFit, edge: "", between: "  ", rule: "" });
    case "box":
      return lined(columns, { width, mustFit, edge: "│", between: " │ ", rule: "─" });
  }
}

/** Writes a title, and then one line per row. */
function plain(title: string, line: (row: Row) => string): Formatter {
  let before = title;
  const taken = (): string => {
    const text = before;
    before = "";
    return text;
  };
  return { rows: (rows) => taken() + rows.map(line).join(""), end: taken };
}

function json(columns: readonly Column[]): Formatter {
  let before = "[";
  return {
    rows(rows) {
      const text = rows
        .map((row) => {
          const item = before + visibleJson(objectOf(columns, row));
          before = ",\n ";
          return item;
        })
        .join("");
      return text;
    },
    end: () => (before === "[" ? "[]\n" : "]\n"),
  };
}

/** Converts a row to an object. The second of two columns with the same name gets a number. */
function objectOf(columns: readonly Column[], row: Row): Record<string, Value> {
  const object: Record<string, Value> = {};
  for (const [at, name] of namesOf(columns).entries()) object[name] = row[at] ?? null;
  return object;
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

export function textOf(value: Value): string {
  if (value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const csvLine = (row: Row): string => `${row.map(csvCell).join(",")}\r\n`;

/**
 * Puts a quote before a cell that begins like a formula, because a spreadsheet would execute it. Numbers get no quote,
 * even if they are text.
 */
function csvCell(value: Value): string {
  const text = visible(textOf(value));
  const isNumeric = typeof value === "number" || /^-\d+(\.\d+)?$/.test(text);
  const safe = !isNumeric && /^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const markdownLine = (row: Row): string =>
  `| ${row.map((value) => visibleLine(textOf(value)).replaceAll("\\", "\\\\").replaceAll("|", "\\|")).join(" | ")} |\n`;

/** Writes each value in full on its own line, and an empty line between rows. */
function lineByLine(columns: readonly Column[], width: number): Formatter {
  const names = namesOf(columns);
  const most = Math.max(...names.map(widthOf));
  const room = Math.max(20, width - most - 2);
  let isFirst = true;
  const block = (row: Row): string => {
    const before = isFirst ? "" : "\n";
    isFirst = false;
    const values = names.map((name, at) => {
      const [first = "", ...rest] = wrap(textOf(row[at] ?? null), room);
      return [`${padded(visibleLine(name), most)}  ${first}`, ...rest.map((line) => " ".repeat(most + 2) + line)];
    });
    return `${before}${values
      .flat()
      .map((line) => `${line.trimEnd()}\n`)
      .join("")}`;
  };
  return { rows: (rows) => rows.map(block).join(""), end: () => "" };
}

interface Lines {
  readonly width: number;
  readonly mustFit: boolean;
  readonly edge: string;
  readonly between: string;
  readonly rule: string;
}

/** The number of rows that determine the width of a column. Wider cells of later rows are cut. */
const MEASURED_ROWS = 1000;
/** The least width of a shortened value, so that people can read and copy an id. */
const LEAST_WIDTH = 36;

function lined(columns: readonly Column[], { width, mustFit, edge, between, rule }: Lines): Formatter {
  const room = width - Math.max(0, columns.length - 1) * between.length - (edge === "" ? 0 : 4);
  const most = Math.max(LEAST_WIDTH, room);
  const cells = (row: Row): readonly string[] => row.map((value) => cellOf(textOf(value), most));
  const titles = columns.map(({ name }) => cellOf(name, most));
  let measured: (readonly string[])[] | undefined = [];
  let widths: readonly number[] = [];
  /** The formatter for an answer that is too wide for a table. */
  let instead: Formatter | undefined;
  const given: Row[] = [];
  const line = (row: readonly string[]): string => {
    const inside = row
      .map((given, at) => {
        const width = widths[at] ?? 0;
        return padded(cut(given, width), width, isNumber(columns[at]?.type ?? "") ? "right" : "left");
      })
      .join(between);
    return edge === "" ? `${inside.trimEnd()}\n` : `${edge} ${inside} ${edge}\n`;
  };
  const border = (left: string, middle: string, right: string): string =>
    rule === "" ? "" : `${left}${widths.map((each) => rule.repeat(each + 2)).join(middle)}${right}\n`;
  const measure = (): string => {
    if (!measured) return "";
    const first = measured;
    measured = undefined;
    const wanted = titles.map((title, at) =>
      first.reduce((widest, row) => Math.max(widest, widthOf(row[at] ?? "")), widthOf(title)),
    );
    widths = fitted(wanted, room);
    if (mustFit && widths.reduce((sum, each) => sum + each, 0) > room) {
      instead = lineByLine(columns, width);
      return instead.rows(given);
    }
    given.length = 0;
    return border("┌", "┬", "┐") + line(titles) + border("├", "┼", "┤") + first.map(line).join("");
  };
  return {
    rows(rows) {
      if (instead) return instead.rows(rows);
      if (!measured) return rows.map((row) => line(cells(row))).join("");
      for (const row of rows) measured.push(cells(row));
      if (mustFit) given.push(...rows);
      return measured.length < MEASURED_ROWS ? "" : measure();
    },
    end: () => measure() + (instead ? "" : border("└", "┴", "┘")),
  };
}

/** Shows narrow columns in full, and divides the rest of the width among wide ones. */
function fitted(widths: readonly number[], room: number): readonly number[] {
  let left = room;
  for (const [at, width] of widths.toSorted((one, other) => one - other).entries()) {
    const share = Math.max(LEAST_WIDTH, Math.floor(left / (widths.length - at)));
    if (width > share) return widths.map((each) => Math.min(each, share));
    left -= width;
  }
  return widths;
}

/** Returns the beginning of a value, on one line, that fits into this many columns. */
function cellOf(value: string, most: number): string {
  return cut(visibleLine(value.slice(0, most * 2)), most, value.length > most * 2);
}

export function isNumber(type: string): boolean {
  return /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|DECIMAL.*)$/.test(type);
}
