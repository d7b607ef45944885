import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { noFacetStore, type FacetRow, type FacetStore, type SavedFacet } from "./facet.ts";

/**
 * Opens the index: an SQLite file in Skein's cache folder with facets, which are data that was read from transcripts.
 *
 * The index is a cache. A row is used only if its file still matches. A damaged or foreign database is deleted and made
 * again. Without a writable folder, no index is used. Several processes may use the index at the same time (WAL). A
 * killed process leaves the last committed state.
 */
export function openFacetStore(folder: string | null): FacetStore {
  if (folder === null) return noFacetStore;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch {
    return noFacetStore;
  }
  const path = join(folder, "index.sqlite");
  for (const attempt of [1, 2]) {
    try {
      return storeOn(open(path));
    } catch (error) {
      if (attempt === 2 || !isBroken(error)) return noFacetStore;
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${path}${suffix}`, { force: true });
    }
  }
  return noFacetStore;
}

/** A database with another layout is emptied, because everything in it can be computed again from the files. */
const layoutVersion = 2;

function open(path: string): DatabaseSync {
  // The module is loaded only by calls that open the index, because some versions of Node print a warning when it
  // loads.
  const { DatabaseSync: Database } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
  const database = new Database(path, { timeout: 5000 });
  try {
    chmodSync(path, 0o600);
    // The rows are large and read in sequence, so large pages halve the time of a search.
    database.exec("PRAGMA page_size = 32768; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    const row = database.prepare("PRAGMA user_version").get();
    if (row?.["user_version"] !== layoutVersion) {
      database.exec(
        `BEGIN IMMEDIATE; DROP TABLE IF EXISTS facets; ${schema} PRAGMA user_version = ${layoutVersion}; COMMIT;`,
      );
    }
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

const schema = `
  CREATE TABLE IF NOT EXISTS facets (
    facet TEXT NOT NULL, version INTEGER NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL, mtime_ms REAL NOT NULL,
    inode INTEGER NOT NULL, "offset" INTEGER NOT NULL, "check" TEXT NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (facet, path)
  );`;

function storeOn(database: DatabaseSync): FacetStore {
  const columns = `path, data, size, mtime_ms, inode, "offset", "check"`;
  const select = database.prepare(`SELECT ${columns} FROM facets WHERE facet = ? AND version = ?`);
  const selectOne = database.prepare(`SELECT ${columns} FROM facets WHERE facet = ? AND version = ? AND path = ?`);
  const selectRows = database.prepare(
    "SELECT path, data, size, mtime_ms, inode FROM facets WHERE facet = ? AND version = ?",
  );
  // A list reads ten thousand rows, and reading them as objects takes 1.5 times as long as reading them as arrays.
  for (const statement of [select, selectOne, selectRows]) statement.setReturnArrays(true);
  const upsert = database.prepare(
    `INSERT OR REPLACE INTO facets (facet, version, path, size, mtime_ms, inode, "offset", "check", data)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const list = database.prepare("SELECT path FROM facets WHERE facet = ?");
  const remove = database.prepare("DELETE FROM facets WHERE facet = ? AND path = ?");
  const inTransaction = (work: () => void): void => {
    try {
      database.exec("BEGIN IMMEDIATE");
      work();
      database.exec("COMMIT");
    } catch {
      // The database is locked for longer than the timeout, or the disk is full. The next call reads the files again.
      if (database.isTransaction) database.exec("ROLLBACK");
    }
  };
  return {
    keeps: true,
    load({ name, version }) {
      const rows = new Map<string, SavedFacet>();
      eachRow(select, [name, version], (row) => {
        const saved = savedFacet(row);
        if (saved) rows.set(saved.path, saved);
      });
      return rows;
    },
    find: ({ name, version }, path) => oneRow(selectOne, [name, version, path]),
    each: ({ name, version }, onRow) =>
      eachRow(selectRows, [name, version], (row) => {
        const saved = facetRow(row);
        if (saved) onRow(saved);
      }),
    paths: ({ name }) => list.all(name).map((row) => String(row["path"])),
    save: ({ name, version }, rows) =>
      inTransaction(() => {
        for (const { path, size, mtimeMs, inode, offset, check, data } of rows) {
          upsert.run(name, version, path, size, mtimeMs, inode, offset, check, data);
        }
      }),
    forget: ({ name }, paths) =>
      inTransaction(() => {
        for (const path of paths) remove.run(name, path);
      }),
    close: () => database.close(),
  };
}

function eachRow(select: StatementSync, values: readonly (string | number)[], onRow: (row: unknown) => void): void {
  try {
    for (const row of select.iterate(...values)) onRow(row);
  } catch {
    // A page of the index is damaged. The rows before this page are used. For the remaining rows, the files are read
    // again.
  }
}

function oneRow(select: StatementSync, values: readonly (string | number)[]): SavedFacet | undefined {
  try {
    return savedFacet(select.get(...values));
  } catch {
    // The page of the row is damaged, or the database is locked. The file is read again.
    return undefined;
  }
}

/** Makes an object from an array whose values are in the order of the selected columns. */
function facetRow(row: unknown): FacetRow | undefined {
  if (!Array.isArray(row)) return undefined;
  const [path, data, size, mtimeMs, inode] = row as unknown[];
  if (typeof path !== "string" || !(data instanceof Uint8Array)) return undefined;
  return { path, data, size: Number(size), mtimeMs: Number(mtimeMs), inode: Number(inode) };
}

function savedFacet(row: unknown): SavedFacet | undefined {
  const known = facetRow(row);
  return known && Array.isArray(row) ? { ...known, offset: Number(row[5]), check: String(row[6]) } : undefined;
}

function isBroken(error: unknown): boolean {
  const code = error instanceof Error && "errcode" in error ? error.errcode : undefined;
  // SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR (a foreign layout)
  return code === 11 || code === 26 || code === 1;
}
