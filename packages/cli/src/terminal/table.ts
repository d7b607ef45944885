import type { Screen } from "./screen.ts";
import { type Piece, type Styled, joined, piece } from "./styled.ts";
import { visibleLine } from "./visible-text.ts";
import { cut, widthOf } from "./width.ts";

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
}

/** The indent of columns that are put below the first line of a row. */
const INDENT = 2;

/** Arranges rows under titles. If a line is full, the next columns are put below it. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly Piece[])[],
  space: number = Number.POSITIVE_INFINITY,
): readonly Styled[] {
  const cells = [columns.map(({ title }) => piece(title)), ...rows.map((row) => row.map(piece))];
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => row[at]?.width ?? 0)));
  const layout = { columns, widths, gap: 2, lines: linesOf(widths, { space, gap: 2 }) };
  return cells.flatMap((row) => rowLines(row, layout));
}

/** The minimum width of a printed table's last column. If less room is left, the column is put below. */
const LEAST = 16;

/**
 * Prints rows of plain text as a table, and escapes control characters.
 *
 * On a narrow terminal, ids are shortened and gaps become smaller. Columns without room are put below. Text that is
 * still too long is cut.
 */
export function printTable(screen: Screen, titles: readonly string[], rows: readonly (readonly string[])[]): void {
  const space = screen.tableColumns ?? Number.POSITIVE_INFINITY;
  const whole = rows.map((row) => row.map(visibleLine));
  const isNarrow = sum(widthsOf(titles, whole)) + 2 * (titles.length - 1) > space;
  const cells = isNarrow ? whole.map((row) => row.map(shortId)) : whole;
  const widths = widthsOf(titles, cells);
  const gap = isNarrow ? 1 : 2;
  const lines = linesOf(widths, { space, gap, least: LEAST });
  const layout = { columns: titles.map((title) => ({ title })), widths, gap, lines };
  const text = (row: readonly string[]): string =>
    rowLines(fitted(row, { ...layout, space }).map(piece), layout)
      .map((line) => line.text)
      .join("\n");
  screen.out(`${screen.paint.out.bold(text(titles))}\n`);
  for (const row of cells) screen.out(`${text(row)}\n`);
}

interface Layout {
  readonly columns: readonly Column[];
  readonly widths: readonly number[];
  readonly gap: number;
  readonly lines: readonly (readonly number[])[];
}

/** Distributes the columns over lines. `least` is the minimum width of the last column. */
function linesOf(
  widths: readonly number[],
  {
    space,
    gap,
    least = Number.POSITIVE_INFINITY,
  }: { readonly space: number; readonly gap: number; readonly least?: number },
): readonly (readonly number[])[] {
  const lines: number[][] = [];
  let room = 0;
  for (const [column, width] of widths.entries()) {
    const wanted = column === widths.length - 1 ? Math.min(width, least) : width;
    if (lines.length === 0 || wanted > room) {
      room = space - (lines.length === 0 ? 0 : INDENT);
      lines.push([]);
    }
    lines.at(-1)?.push(column);
    room -= width + gap;
  }
  return lines;
}

/** Arranges the cells of a row in the lines of the layout. */
function rowLines(row: readonly Styled[], { columns, widths, gap, lines }: Layout): readonly Styled[] {
  return lines
    .map((shown, line) => {
      const cells = shown.map((column) => {
        const cell = row[column] ?? piece("");
        const blank = " ".repeat(Math.max(0, (widths[column] ?? 0) - cell.width));
        return columns[column]?.align === "right" ? joined([blank, cell]) : joined([cell, blank]);
      });
      const { text, width } = joined(cells, " ".repeat(gap));
      return { text: (" ".repeat(line === 0 ? 0 : INDENT) + text).trimEnd(), width };
    })
    .filter(({ text }, line) => line === 0 || text !== "");
}

/** Cuts the cells of a row that are longer than the rest of their line. */
function fitted(
  row: readonly string[],
  { widths, gap, lines, space }: Layout & { readonly space: number },
): readonly string[] {
  const cells = [...row];
  for (const [line, shown] of lines.entries()) {
    let room = space - (line === 0 ? 0 : INDENT);
    for (const column of shown) {
      const cell = cut(cells[column] ?? "", room);
      cells[column] = cell;
      room -= Math.max(widths[column] ?? 0, widthOf(cell)) + gap;
    }
  }
  return cells;
}

function widthsOf(titles: readonly string[], cells: readonly (readonly string[])[]): readonly number[] {
  return titles.map((title, at) => Math.max(widthOf(title), ...cells.map((row) => widthOf(row[at] ?? ""))));
}

/**
 * Shortens a UUID to its first 13 characters. They contain its time in milliseconds, so they are almost always unique.
 */
function shortId(cell: string): string {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(cell) ? cell.slice(0, 13) : cell;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
