import type { SqlTable } from "../api/api.ts";

/** The tables that SQL can query, with their columns. */
export interface Tables {
  /** Columns by the name of their table. */
  readonly names: Readonly<Record<string, readonly string[]>>;
  readonly all: readonly SqlTable[];
}

export function tablesOf(all: readonly SqlTable[] = []): Tables {
  return { names: Object.fromEntries(all.map(({ name, columns }) => [name, columns.map((one) => one.name)])), all };
}
