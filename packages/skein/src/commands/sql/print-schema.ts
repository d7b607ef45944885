import type { Table } from "@skein/sql";
import type { Screen } from "../../terminal/screen.ts";
import { visible } from "../../terminal/visible.ts";

/** Tables with their columns and what they mean; all, or the one that was named. Answers whether there is one. */
export function printSchema(tables: readonly Table[], screen: Screen, only?: string): boolean {
  const shown = only === undefined ? tables : tables.filter(({ name }) => name === only.toLowerCase());
  if (shown.length === 0)
    screen.note(`There is no table ${visible(only ?? "")}. There are ${tables.map(({ name }) => name).join(", ")}.\n`);
  for (const { name, about, columns } of shown) {
    screen.out(`${screen.paint.out.bold(name)}  ${about}\n`);
    const width = Math.max(...columns.map((column) => column.name.length));
    const types = Math.max(...columns.map(({ type }) => type.length));
    for (const column of columns)
      screen.out(`  ${column.name.padEnd(width)}  ${column.type.padEnd(types)}  ${column.about}\n`);
    screen.out("\n");
  }
  return shown.length > 0;
}
