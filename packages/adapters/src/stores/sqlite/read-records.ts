import { accessSync, closeSync, constants, existsSync, openSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { ReadRecords } from "@skein/core";
import { KnownError } from "@skein/protocol";
import { guarded, refuseEmpty, refuseNewer } from "./database.ts";
import { createSqliteRecords } from "./records.ts";
import { MIGRATIONS } from "./schema.ts";

/** Reads the records of a database without changing it. Returns undefined if the file has no store yet. */
export function readSqliteRecords(file: string): ReadRecords | undefined {
  refuseEmpty(file);
  refuseUnwritable(file);
  const database = guarded(() => connect(file));
  try {
    const version = Number(guarded(() => database.prepare("pragma user_version").get())?.["user_version"]);
    refuseNewer(version);
    if (version === 0) {
      database.close();
      return undefined;
    }
    const refuse = (): never => {
      throw new KnownError("read_only", "The database was opened for reading.");
    };
    const db = {
      all: (sql: string, ...params: readonly SQLInputValue[]) => guarded(() => database.prepare(sql).all(...params)),
      get: (sql: string, ...params: readonly SQLInputValue[]) => guarded(() => database.prepare(sql).get(...params)),
      run: refuse,
      write: async () => refuse(),
    };
    return {
      records: createSqliteRecords({ db, now: Date.now }),
      isOlder: version < MIGRATIONS.length,
      close: async () => database.close(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

function refuseUnwritable(file: string): void {
  accessSync(file, constants.W_OK);
  const wake = `${file}.wake`;
  if (existsSync(wake)) closeSync(openSync(wake, "r+"));
}

function connect(file: string): DatabaseSync {
  const url = pathToFileURL(file);
  // Without this, sqlite would create `-wal` and `-shm`. A database without `-wal` has no process that writes.
  if (!existsSync(`${file}-wal`)) url.searchParams.set("immutable", "1");
  return new DatabaseSync(url, { readOnly: true, timeout: 5000 });
}
