import type { Table } from "@skein/sql";
import { MissingError } from "../../terminal/exit-codes.ts";
import type { Screen } from "../../terminal/screen.ts";

/** All tables, or the one that was named. */
export function tablesNamed(tables: readonly Table[], only: string | undefined): readonly Table[] {
  const shown = only === undefined ? tables : tables.filter(({ name }) => name === only.toLowerCase());
  if (shown.length > 0) return shown;
  throw new MissingError(`There is no table ${only}. There are ${tables.map(({ name }) => name).join(", ")}.`);
}

/** Tables with their columns and what they mean. */
export function printSchema(tables: readonly Table[], screen: Screen): void {
  for (const { name, about, columns } of tables) {
    screen.out(`${screen.paint.out.bold(name)}  ${about}\n`);
    const width = Math.max(...columns.map((column) => column.name.length));
    const types = Math.max(...columns.map(({ type }) => type.length));
    for (const column of columns)
      screen.out(`  ${column.name.padEnd(width)}  ${column.type.padEnd(types)}  ${column.about}\n`);
    screen.out("\n");
  }
}
