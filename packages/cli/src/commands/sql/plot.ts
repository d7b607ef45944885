import type { Column, Row } from "@skein/sql";
import { shorten, widthOf } from "../../terminal/width.ts";
import { isNumber, textOf } from "./formats.ts";

/** The largest number of bars in a chart. */
const MOST_ROWS = 500;
/** The number of significant digits of the value beside a bar. Integers are shown in full. */
const DIGITS = 4;
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** Draws an answer as bars. Returns undefined if the answer has no column of names or no column of numbers. */
export function plot(columns: readonly Column[], rows: readonly Row[], width: number): string | undefined {
  const numbers = columns.flatMap(({ type }, at) => (isNumber(type) ? [at] : []));
  // If all columns are numbers, the first column has the names of the rows, such as hours or steps.
  const series = numbers.length === columns.length ? numbers.slice(1) : numbers;
  const names = columns.flatMap((_, at) => (series.includes(at) ? [] : [at]));
  if (series.length === 0 || names.length === 0) return undefined;
  const shown = rows.slice(0, MOST_ROWS);
  // The names of the rows get at most half of the width.
  const length = Math.min(40, Math.floor(width / 2));
  const labels = shown.map((row) => shorten(names.map((at) => textOf(row[at] ?? null)).join(" · "), length));
  const charts = series.map((at) => {
    const values = shown.map((row) => (row[at] === null ? undefined : Number(row[at])));
    return `${shorten(columns[at]?.name ?? "", 60)}\n${bars(labels, values, width)}`;
  });
  const more = rows.length > shown.length ? `… and ${rows.length - shown.length} more rows\n` : "";
  return charts.join("\n") + more;
}

/** Bars begin at zero. Negative values are drawn in another shade. */
function bars(labels: readonly string[], values: readonly (number | undefined)[], width: number): string {
  const texts = values.map((value) => (value === undefined ? "" : numberText(value)));
  const labelWidth = Math.max(0, ...labels.map(widthOf));
  const textWidth = Math.max(0, ...texts.map((text) => text.length));
  const room = Math.max(10, width - labelWidth - textWidth - 4);
  const most = Math.max(...values.filter(isFinite).map(Math.abs), 0);
  return values
    .map((value, at) => {
      const label = labels[at] ?? "";
      const text = texts[at] ?? "";
      const bar = most === 0 || !isFinite(value) ? "" : drawn((Math.abs(value) / most) * room, value < 0);
      return `${label}${" ".repeat(labelWidth - widthOf(label))}  ${text.padStart(textWidth)}  ${bar}`.trimEnd();
    })
    .map((line) => `${line}\n`)
    .join("");
}

function numberText(value: number): string {
  return String(Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS)));
}

const isFinite = (value: number | undefined): value is number => Number.isFinite(value);

function drawn(length: number, isNegative: boolean): string {
  const whole = Math.floor(length);
  if (isNegative) return "░".repeat(Math.max(1, Math.round(length)));
  return "█".repeat(whole) + (EIGHTHS[Math.floor((length - whole) * 8)] ?? "");
}
