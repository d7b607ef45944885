import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { chmodSync, closeSync, existsSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "../filesystem/durable-files.ts";
import { KnownError } from "@skein/protocol";
import { knownSqliteError } from "./errors.ts";
import { MIGRATIONS } from "./schema.ts";
import { VIEWS, VIEWS_HASH, VIEW_NAMES } from "./views.ts";

type Row = Record<string, unknown>;

/** A sqlite file. Each statement is prepared once. All writes are jobs, and several jobs share a commit. */
export interface Database {
  all(sql: string, ...params: readonly SQLInputValue[]): readonly Row[];
  /** Reads row by row, for callers that may stop before the last row. */
  iterate(sql: string, ...params: readonly SQLInputValue[]): Iterable<Row>;
  get(sql: string, ...params: readonly SQLInputValue[]): Row | undefined;
  run(sql: string, ...params: readonly SQLInputValue[]): number;
  /**
   * Runs a job, and resolves when its data is on the disk. All jobs of one turn of the event loop share a transaction.
   *
   * A job makes all its checks before its first write. If it throws a KnownError, only this job is rejected. Any other
   * error rolls the whole group back, and the jobs are then tried one by one.
   */
  write<Result>(job: () => Result): Promise<Result>;
  /**
   * Like `write`, for data that may be lost in a power failure. If it is lost, all later writes are lost too, because
   * the write-ahead log is written in order.
   */
  writeFleeting<Result>(job: () => Result): Promise<Result>;
  close(): void;
}

interface Job {
  readonly run: () => unknown;
  readonly isFleeting: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export interface DatabaseDeps {
  readonly file: string;
  /** How long a write waits for another process that is writing. */
  readonly busyMs: number;
  /** Called after every commit. */
  readonly committed: () => void;
}

export function openDatabase({ file, busyMs, committed }: DatabaseDeps): Database {
  const db = guarded(() => connect(file, busyMs));
  const statements = new Map<string, StatementSync>();
  let jobs: Job[] = [];
  let open = true;
  let waits = true;

  function prepared(sql: string): StatementSync {
    if (!open) throw new KnownError("closed", "The store is closed.");
    const statement = statements.get(sql) ?? db.prepare(sql);
    statements.set(sql, statement);
    return statement;
  }

  function flush(): void {
    const group = jobs;
    jobs = [];
    if (group.length === 0) return;
    if (!open) {
      for (const job of group) job.reject(new KnownError("closed", "The store is closed."));
      return;
    }
    if (commit(group)) return;
    // A job of the group failed unexpectedly, so each job is run alone.
    if (group.length > 1) for (const job of group) commit([job]);
  }

  /** Sets whether the next commit waits for the disk. If the setting fails, nothing is written. */
  function waitForDisk(isWanted: boolean): void {
    if (isWanted === waits) return;
    prepared(`pragma synchronous = ${isWanted ? "full" : "normal"}`).run();
    waits = isWanted;
  }

  /** Returns whether the jobs were answered. A single job is always answered, if necessary with an error. */
  function commit(group: readonly Job[]): boolean {
    const answers: (() => void)[] = [];
    try {
      waitForDisk(group.some((job) => !job.isFleeting));
      prepared("begin immediate").run();
      for (const job of group) answers.push(attempt(job));
      prepared("commit").run();
    } catch (error) {
      if (db.isTransaction) db.exec("rollback");
      if (group.length > 1) return false;
      group[0]?.reject(knownSqliteError(error));
      return true;
    }
    for (const answer of answers) answer();
    committed();
    return true;
  }

  function attempt(job: Job): () => void {
    try {
      const value = job.run();
      return () => job.resolve(value);
    } catch (error) {
      if (!(error instanceof KnownError)) throw error;
      return () => job.reject(error);
    }
  }

  function enqueue<Result>(job: () => Result, isFleeting: boolean): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      if (!open) throw new KnownError("closed", "The store is closed.");
      if (jobs.length === 0) setImmediate(flush);
      jobs.push({ run: job, isFleeting, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  return {
    all: (sql, ...params) => guarded(() => prepared(sql).all(...params)),
    *iterate(sql, ...params) {
      try {
        yield* prepared(sql).iterate(...params);
      } catch (error) {
        throw knownSqliteError(error);
      }
    },
    get: (sql, ...params) => guarded(() => prepared(sql).get(...params)),
    run(sql, ...params) {
      const statement = prepared(sql);
      const { changes } = statement.run(...params);
      // A statement keeps a copy of its values until its next use. `iterate()` clears the copy without running the
      // statement.
      if (params.some(isLarge)) statement.iterate();
      return Number(changes);
    },
    write: (job) => enqueue(job, false),
    writeFleeting: (job) => enqueue(job, true),
    close() {
      if (!open) return;
      flush();
      open = false;
      db.close();
    },
  };
}

/** Whether a value is so large that no statement may keep it. */
function isLarge(value: SQLInputValue): boolean {
  return (typeof value === "string" || value instanceof Uint8Array) && value.length > 256 * 1024;
}

export function guarded<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw knownSqliteError(error);
  }
}

/**
 * A commit is on the disk before it is answered. The write-ahead log may grow to 16 MB before sqlite copies it into the
 * database. With the default of 4 MB, sqlite copies it every 90 appends, which takes a quarter of their time.
 */
const PRAGMAS = `
  pragma journal_mode = wal;
  pragma synchronous = full;
  pragma wal_autocheckpoint = 4000;
  pragma journal_size_limit = 33554432;
  pragma foreign_keys = on;
  pragma temp_store = memory;
`;

function connect(file: string, busyMs: number): DatabaseSync {
  refuseEmpty(file);
  if (file !== ":memory:" && !existsSync(file)) {
    makeFolder(dirname(file));
    // The file is created before sqlite opens it, because sqlite's journal files get the mode of the database.
    closeSync(openSync(file, "a", 0o600));
    chmodSync(file, 0o600);
  }
  const db = new DatabaseSync(file, { timeout: busyMs });
  try {
    db.exec(PRAGMAS);
    db.function("lowered", { deterministic: true }, (text) => (typeof text === "string" ? text.toLowerCase() : null));
    migrate(db);
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}

/** An empty file is accepted if it is younger than this, because another process may be creating it. */
const MADE_NOW_MS = 10_000;

/** Rejects an empty file, because it is often left by a failed copy. sqlite would use it as a new database. */
export function refuseEmpty(file: string): void {
  const found = file === ":memory:" ? undefined : statSync(file, { throwIfNoEntry: false });
  if (found?.size !== 0 || existsSync(`${file}-wal`) || Date.now() - found.mtimeMs < MADE_NOW_MS) return;
  throw new KnownError(
    "store_corrupt",
    "The file is empty (0 bytes): a failed copy leaves such a file. Restore a backup, or delete the file to begin with a new store.",
  );
}

/**
 * Updates the schema, unless another process has done it. Views contain no data, so they are created again when their
 * text has changed.
 */
function migrate(db: DatabaseSync): void {
  const pragma = (name: string): number => Number(db.prepare(`pragma ${name}`).get()?.[name]);
  const version = pragma("user_version");
  refuseNewer(version);
  if (version === MIGRATIONS.length && pragma("application_id") === VIEWS_HASH) return;
  db.exec("begin immediate");
  // Another process may have updated the schema while this process waited for the lock.
  for (const step of MIGRATIONS.slice(pragma("user_version"))) db.exec(step);
  for (const name of VIEW_NAMES.toReversed()) db.exec(`drop view if exists ${name}`);
  db.exec(VIEWS);
  db.exec(`pragma user_version = ${MIGRATIONS.length}; pragma application_id = ${VIEWS_HASH}; commit;`);
}

export function refuseNewer(version: number): void {
  if (version > MIGRATIONS.length)
    throw new KnownError(
      "store_too_new",
      `The store has schema ${version}, and this Skein knows ${MIGRATIONS.length}. Use a newer Skein.`,
    );
}
