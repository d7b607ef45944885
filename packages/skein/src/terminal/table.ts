import type { Screen } from "./screen.ts";
import { visibleLine } from "./visible.ts";
import { widthOf } from "./width.ts";

/** The least that is left of the last column beside the others; below that it gets a line of its own. */
const LEAST = 16;

/**
 * Prints rows under titles, each column as wide as its widest cell; what comes from outside is made visible.
 *
 * On a terminal that is too narrow the columns move together, and the last one is cut or stands below its row.
 */
export function printTable(screen: Screen, titles: readonly string[], rows: readonly (readonly string[])[]): void {
  const cells = rows.map((row) => row.map(visibleLine));
  const widths = titles.map((title, at) => Math.max(widthOf(title), ...cells.map((row) => widthOf(row[at] ?? ""))));
  const space = screen.tableColumns ?? Number.POSITIVE_INFINITY;
  const gap = sum(widths) + 2 * (widths.length - 1) > space ? " " : "  ";
  const room = space - sum(widths.slice(0, -1)) - gap.length * (widths.length - 1);
  const line = (row: readonly string[]): string => {
    const first = row.slice(0, -1).map((cell, at) => cell + " ".repeat((widths[at] ?? 0) - widthOf(cell)));
    const last = row.at(-1) ?? "";
    if (room >= LEAST || widthOf(last) <= room) return [...first, cut(last, room)].join(gap).trimEnd();
    return `${first.join(gap).trimEnd()}\n  ${cut(last, space - 2)}`;
  };
  screen.out(`${screen.paint.out.bold(line(titles))}\n`);
  for (const row of cells) screen.out(`${line(row)}\n`);
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
