/** Finds what a statement may read, only from its text. No function here reads files or the database. */
import { type SmallTable, namesPlatform, smallTablesIn } from "./named-tables.ts";
import { type ReadCall, withoutReadCalls } from "./read-calls.ts";

export interface Statement {
  /** The statement as the caller wrote it. */
  readonly given: string;
  /** The statement as DuckDB runs it, with a table in place of each read function. */
  readonly sql: string;
  /** The data that must be loaded into tables before DuckDB runs the statement. */
  readonly loads: readonly Load[];
  readonly namesBranches: boolean;
  /** Whether the statement may read `claude.lines`. */
  readonly namesLines: boolean;
}

/**
 * Rows that Skein must load, because DuckDB cannot read their source. A new source needs a new kind here and a case in
 * `sources/load-tables.ts`.
 */
export type Load =
  /** The sessions of the store, in the schemas `platform`, `agent` and `api`. */
  | { readonly kind: "platform" }
  /** A table of Claude Code's small files or of sessions, read by the history library. */
  | { readonly kind: "small-table"; readonly table: SmallTable }
  /** A call such as `read_plans('~/.claude')`, which becomes a table. */
  | { readonly kind: "read-function"; readonly call: ReadCall };

export function readStatement(given: string): Statement {
  const { sql, calls } = withoutReadCalls(given);
  return {
    given,
    sql,
    loads: [
      ...(namesPlatform(sql) ? [{ kind: "platform" } as const] : []),
      ...calls.map((call) => ({ kind: "read-function", call }) as const),
      ...smallTablesIn(sql).map((table) => ({ kind: "small-table", table }) as const),
    ],
    namesBranches: /branches/i.test(sql),
    namesLines: /lines/i.test(sql),
  };
}
