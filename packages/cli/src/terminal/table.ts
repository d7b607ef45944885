import type { Screen } from "./screen.ts";
import { visibleLine } from "./visible.ts";
import { widthOf } from "./width.ts";

/** The least that is left of the last column beside the others; below that it gets a line of its own. */
const LEAST = 16;
/** Columns that do not fit beside the others stand below them, so far in. */
export const INDENT = 2;

/**
 * Prints rows under titles, each column as wide as its widest cell; what comes from outside is made visible.
 *
 * On a terminal that is too narrow ids are shortened to what still names them, the columns move together, the last one is
 * cut, and columns for which there is no room stand below.
 */
export function printTable(screen: Screen, titles: readonly string[], rows: readonly (readonly string[])[]): void {
  const space = screen.tableColumns ?? Number.POSITIVE_INFINITY;
  const whole = rows.map((row) => row.map(visibleLine));
  const isNarrow = sum(widthsOf(titles, whole)) + 2 * (titles.length - 1) > space;
  const cells = isNarrow ? whole.map((row) => row.map(shortId)) : whole;
  const widths = widthsOf(titles, cells);
  const gap = isNarrow ? " " : "  ";
  const lines = linesOf(widths, { space, gap: gap.length, least: LEAST });
  const text = (row: readonly string[]): string =>
    lines
      .map((columns, at) => {
        const indent = at === 0 ? 0 : INDENT;
        let room = space - indent;
        const shown = columns.map((column) => {
          const cell = cut(row[column] ?? "", room);
          const padded = cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell)));
          room -= widthOf(padded) + gap.length;
          return padded;
        });
        return (" ".repeat(indent) + shown.join(gap)).trimEnd();
      })
      .filter((line, at) => at === 0 || line !== "")
      .join("\n");
  screen.out(`${screen.paint.out.bold(text(titles))}\n`);
  for (const row of cells) screen.out(`${text(row)}\n`);
}

/** Which columns stand beside each other: as many as fit, of the last one at least so much. */
export function linesOf(
  widths: readonly number[],
  { space, gap, least }: { readonly space: number; readonly gap: number; readonly least: number },
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

function widthsOf(titles: readonly string[], cells: readonly (readonly string[])[]): readonly number[] {
  return titles.map((title, at) => Math.max(widthOf(title), ...cells.map((row) => widthOf(row[at] ?? ""))));
}

/** Of a UUID what says when it was made: to the millisecond, so that hardly two begin alike. */
function shortId(cell: string): string {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(cell) ? cell.slice(0, 13) : cell;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function cut(text: string, room: number): string {
  if (widthOf(text) <= room) return text;
  let shown = "";
  for (const char of text) {
    if (widthOf(shown + char) >= room) break;
    shown += char;
  }
  return `${shown}…`;
}
