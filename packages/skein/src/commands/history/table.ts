import { type Piece, type Styled, joined, piece } from "./styled.ts";

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
}

/** Rows under titles, as wide as their widest cell. */
export function table(columns: readonly Column[], rows: readonly (readonly Piece[])[]): readonly Styled[] {
  const cells = [columns.map(({ title }) => piece(title)), ...rows.map((row) => row.map(piece))];
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => row[at]?.width ?? 0)));
  return cells.map((row) => {
    const padded = row.map((cell, at) => {
      const space = " ".repeat(Math.max(0, (widths[at] ?? 0) - cell.width));
      if (columns[at]?.align === "right") return { text: space + cell.text, width: cell.width + space.length };
      const isLast = at === row.length - 1;
      return isLast ? cell : { text: cell.text + space, width: cell.width + space.length };
    });
    const { text, width } = joined(padded, "  ");
    return { text: text.trimEnd(), width };
  });
}
