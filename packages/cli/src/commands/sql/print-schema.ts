import type { Table } from "@skein/sql";
import { explained, wrapped } from "../../terminal/help.ts";
import { MissingError } from "../../terminal/exit-codes.ts";
import type { Screen } from "../../terminal/screen.ts";

/** Returns all tables, or only the named table. */
export function tablesNamed(tables: readonly Table[], only: string | undefined): readonly Table[] {
  const shown = only === undefined ? tables : tables.filter(({ name }) => name === only.toLowerCase());
  if (shown.length > 0) return shown;
  throw new MissingError(`There is no table ${only}. There are ${tables.map(({ name }) => name).join(", ")}.`);
}

/** Prints tables and columns with their meaning. */
export function printSchema(tables: readonly Table[], screen: Screen): void {
  for (const { name, about, columns } of tables) {
    screen.out(`${screen.paint.out.bold(name)}\n`);
    for (const line of wrapped(about, screen.helpColumns)) screen.out(`${line}\n`);
    const width = Math.max(...columns.map((column) => column.name.length));
    const rows = columns.map((column) => [`${column.name.padEnd(width)}  ${column.type}`, column.about]);
    screen.out(`${explained(rows, screen.helpColumns).join("\n")}\n\n`);
  }
}
