import { INDENT, linesOf } from "../../terminal/table.ts";
import { type Piece, type Styled, joined, piece } from "./styled.ts";

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
}

/** Rows under titles, as wide as their widest cell. Columns for which so much space has no room stand below the others. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly Piece[])[],
  space: number = Number.POSITIVE_INFINITY,
): readonly Styled[] {
  const cells = [columns.map(({ title }) => piece(title)), ...rows.map((row) => row.map(piece))];
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => row[at]?.width ?? 0)));
  const lines = linesOf(widths, { space, gap: 2, least: Number.POSITIVE_INFINITY });
  return cells.flatMap((row) =>
    lines
      .map((shown, line) => {
        const padded = shown.map((column, at) => {
          const cell = row[column] ?? piece("");
          const blank = " ".repeat(Math.max(0, (widths[column] ?? 0) - cell.width));
          if (columns[column]?.align === "right") return joined([blank, cell]);
          return at === shown.length - 1 ? cell : joined([cell, blank]);
        });
        const { text, width } = joined(padded, "  ");
        return { text: (" ".repeat(line === 0 ? 0 : INDENT) + text).trimEnd(), width };
      })
      .filter(({ text }, line) => line === 0 || text !== ""),
  );
}
