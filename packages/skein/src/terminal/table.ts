import type { Screen } from "./screen.ts";
import { visibleLine } from "./visible.ts";
import { widthOf } from "./width.ts";

/** Prints rows under titles, each column as wide as its widest cell; what comes from outside is made visible. */
export function printTable(screen: Screen, titles: readonly string[], rows: readonly (readonly string[])[]): void {
  const cells = rows.map((row) => row.map(visibleLine));
  const widths = titles.map((title, at) => Math.max(widthOf(title), ...cells.map((row) => widthOf(row[at] ?? ""))));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => (at === titles.length - 1 ? cell : cell + " ".repeat((widths[at] ?? 0) - widthOf(cell))))
      .join("  ")
      .trimEnd();
  screen.out(`${screen.paint.out.bold(line(titles))}\n`);
  for (const row of cells) screen.out(`${line(row)}\n`);
}
