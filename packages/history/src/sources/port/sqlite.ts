/** Reads databases of coding agents in short transactions. Neither writes to a database nor blocks its agent. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { connect, type Connection } from "./sqlite-connection.ts";

export type Row = Readonly<Record<string, unknown>>;

export interface OpenDatabase {
  all(sql: string, ...values: readonly (string | number)[]): readonly Row[];
  each(sql: string, values: readonly (string | number)[], onRow: (row: Row) => void): void;
  /** Returns the columns of a table, or an empty set if the table does not exist. */
  columns(table: string): ReadonlySet<string>;
}

/** Runs `work` on one state of the database. */
export function readDatabase<T>(path: string, work: (database: OpenDatabase) => T): T {
  const connection = connectionTo(path);
  const { database } = connection;
  try {
    database.exec("BEGIN");
    const result = work(wrap(database));
    if (!connection.isWhole())
      throw new Error("the database was changed while it was read; the next call reads it again");
    return result;
  } finally {
    if (database.isTransaction) database.exec("ROLLBACK");
    if (holders === 0) connection.close();
  }
}

/**
 * Returns a time in milliseconds, or 0 if the time is unknown. A text in SQLite's format has no time zone and means
 * UTC.
 */
export function sqliteTime(value: unknown): number {
  if (typeof value === "number") return value;
  const text = String(value);
  return Date.parse(/^[\d-]+ [\d:.]+$/.test(text) ? `${text.replace(" ", "T")}Z` : text) || 0;
}

let holders = 0;
const held = new Map<string, Connection>();

function connectionTo(path: string): Connection {
  const known = held.get(path);
  if (known?.isCurrent()) return known;
  known?.close();
  held.delete(path);
  const made = connect(path);
  if (holders > 0) held.set(path, made);
  return made;
}

/**
 * Keeps databases open while asynchronous `work` runs, because opening a database takes longer than reading a session.
 */
export async function holdingDatabases<T>(work: () => Promise<T>): Promise<T> {
  holders += 1;
  try {
    return await work();
  } finally {
    release();
  }
}

/** Keeps databases open while synchronous `work` runs. */
export function keepDatabases<T>(work: () => T): T {
  holders += 1;
  try {
    return work();
  } finally {
    release();
  }
}

function release(): void {
  holders -= 1;
  if (holders > 0) return;
  for (const connection of held.values()) connection.close();
  held.clear();
}

/** The prepared statements of each database. A few statements read thousands of sessions, so they are kept. */
const prepared = new WeakMap<DatabaseSync, Map<string, StatementSync>>();

function wrap(database: DatabaseSync): OpenDatabase {
  const statements = prepared.get(database) ?? new Map<string, StatementSync>();
  prepared.set(database, statements);
  const prepare = (sql: string): StatementSync => {
    const known = statements.get(sql);
    if (known) return known;
    const made = database.prepare(sql);
    statements.set(sql, made);
    return made;
  };
  return {
    all: (sql, ...values) => prepare(sql).all(...values),
    each(sql, values, onRow) {
      for (const row of prepare(sql).iterate(...values)) onRow(row);
    },
    columns: (table) =>
      new Set(
        prepare("SELECT name FROM pragma_table_info(?)")
          .all(table)
          .map((row) => String(row["name"])),
      ),
  };
}
