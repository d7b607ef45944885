/** Reads the databases of other agents: read-only, in one short transaction, without blocking the agent. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";

export type Row = Readonly<Record<string, unknown>>;

export interface OpenDatabase {
  all(sql: string, ...values: readonly (string | number)[]): readonly Row[];
  each(sql: string, values: readonly (string | number)[], onRow: (row: Row) => void): void;
  /** The columns of a table; none if there is no such table. */
  columns(table: string): ReadonlySet<string>;
}

/**
 * Runs `work` on one state of the database. If it cannot be opened where it is (in a read-only folder, SQLite cannot create
 * the shared memory of the log), a copy of the database and its log is read.
 */
export function readDatabase<T>(path: string, work: (database: OpenDatabase) => T): T {
  try {
    return inTransaction(path, work);
  } catch (error) {
    if (!isUnopened(error)) throw error;
    return fromCopy(path, work);
  }
}

function inTransaction<T>(path: string, work: (database: OpenDatabase) => T): T {
  const database = held.get(path) ?? open(path);
  try {
    database.exec("BEGIN");
    return work(wrap(database));
  } finally {
    if (database.isTransaction) database.exec("ROLLBACK");
    if (holders > 0) held.set(path, database);
    else database.close();
  }
}

let holders = 0;
const held = new Map<string, DatabaseSync>();

/**
 * Keeps databases open between transactions while asynchronous `work` runs: opening a database takes longer than reading a
 * session from it.
 */
export async function holdingDatabases<T>(work: () => Promise<T>): Promise<T> {
  holders += 1;
  try {
    return await work();
  } finally {
    release();
  }
}

/** Like `holdingDatabases`, for synchronous work. */
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
  for (const database of held.values()) database.close();
  held.clear();
}

function open(path: string): DatabaseSync {
  const { DatabaseSync: Database } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
  return new Database(path, { readOnly: true, timeout: 2000 });
}

/** Prepared statements are kept, because thousands of sessions are read with the same few statements. */
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

function fromCopy<T>(path: string, work: (database: OpenDatabase) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "skein-copy-"));
  try {
    for (const suffix of ["", "-wal"])
      if (existsSync(`${path}${suffix}`)) copyFileSync(`${path}${suffix}`, join(folder, `db${suffix}`));
    return inTransaction(join(folder, "db"), work);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** SQLITE_CANTOPEN, SQLITE_READONLY (and its variants), SQLITE_IOERR. */
function isUnopened(error: unknown): boolean {
  const code = error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : undefined;
  return code === 14 || code === 8 || code === 10;
}
