import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance, type DuckDBPreparedStatement } from "@duckdb/node-api";
import type { Store } from "@skein/core";
import { type LibraryConfig, existingRoots, isDataNotFoundError } from "@skein/history/discover";
import { createCallerWork } from "./answer/caller-statement.ts";
import { type CopyPlace, copyPlace } from "./copy/copy-place.ts";
import { createFileFinder } from "./transcripts/find-files.ts";
import { createMemory, isFull } from "./database/memory.ts";
import { createPreparer, isMissingFile } from "./plan/prepare-statement.ts";
import { isLoadOfOriginal } from "./plan/read-calls.ts";
import { SqlError, failure } from "./sql-error.ts";
import { statementsOf } from "./plan/statements.ts";
import { type Table, listTables } from "./tables/list-tables.ts";
import { beginStream } from "./answer/stream-transaction.ts";
import { START } from "./tables/schema.ts";
import { areNumbersRight, createTranscripts } from "./transcripts/transcripts.ts";
import { type Column, type Row, columnsOf, hasAnswer, plainRow, rowsOf } from "./answer/values.ts";

export interface SqlOptions {
  /** Claude Code's data directories; found by itself if not given. */
  readonly roots?: readonly string[];
  /** The platform's sessions, or how to open them when a statement asks; without any their tables are empty. It stays open. */
  readonly store?: Store | (() => Promise<Store | undefined>);
  /** Skein's own folder for what is known of the files; `null` keeps nothing. Never inside a data directory. */
  readonly cacheFolder?: string | null;
  /** What DuckDB may use before it writes to its own temporary folder. */
  readonly memoryLimit?: string;
  readonly threads?: number;
}

/** The answer to one statement; without columns if it has none. */
export interface SqlResult {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}

/** The answer to one statement as it comes. */
export interface SqlStream {
  readonly columns: readonly Column[];
  readonly rows: AsyncGenerator<readonly Row[]>;
}

/** SQL over Claude Code's files and a store's sessions. Both are only read. */
export interface Sql {
  /** Runs statements, one after the other. Refuses with `SqlError` what DuckDB refuses. */
  run(sql: string): Promise<readonly SqlResult[]>;
  /** The same without holding an answer in memory: its rows come in pieces. The next statement starts with the next answer. */
  stream(sql: string): AsyncGenerator<SqlStream>;
  /** One statement with everything that it may ask in its tables, for callers that read the answer themselves. */
  prepare(sql: string): Promise<DuckDBPreparedStatement>;
  /** Ends the statement that is running; it fails. */
  interrupt(): void;
  /** Every table with its columns and what they mean. */
  tables(): Promise<readonly Table[]>;
  /** Bytes of the transcripts that are read in place because no copy has them as they are now. */
  scannedBytes(): number;
  close(): void;
}

/** What DuckDB may use before it writes to its temporary folder, if nobody says it. */
const MEGABYTES = 205;

/** As many rows are held while it is not known yet whether the files are whole. */
const SHORT_ROWS = 10_000;

/** How often a statement is run again because a file changed while it was read. */
const ATTEMPTS = 3;

export async function createSql(options: SqlOptions = {}): Promise<Sql> {
  const folder = mkdtempSync(join(tmpdir(), "skein-sql-"));
  const instance = await DuckDBInstance.create(":memory:", {
    memory_limit: options.memoryLimit ?? `${MEGABYTES}MB`,
    temp_directory: join(folder, "spill"),
    // What was let go is given back to the system soon.
    allocator_flush_threshold: "8MB",
    allocator_bulk_deallocation_flush_threshold: "16MB",
    // Extensions would be fetched from the network in the middle of a statement.
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    ...(options.threads === undefined ? {} : { threads: String(options.threads) }),
  });
  const connection = await instance.connect();
  const base = connection.run(START);
  const cacheFolder = options.cacheFolder ?? null;
  const library: LibraryConfig = {
    ...(options.roots === undefined ? {} : { dataPath: options.roots }),
    cacheFolder: cacheFolder === null ? null : join(cacheFolder, "history"),
  };
  const find = createFileFinder(library);
  try {
    // While DuckDB is at work: the first question then only has to see whether that is still so.
    find();
  } catch {
    // What cannot be found is said to who asks.
  }
  await base;
  const memory = createMemory(connection, options.memoryLimit === undefined ? MEGABYTES : undefined);
  const transcripts = createTranscripts({
    connection,
    find,
    cacheFolder: cacheFolder === null ? null : join(cacheFolder, "sql"),
    copy: cacheFolder === null ? null : placeOfCopy(join(cacheFolder, "sql"), library),
    folder,
    memory,
  });

  const caller = createCallerWork(connection, memory);
  let opened: Promise<Store | undefined> | undefined;
  const openStore = async (): Promise<Store | undefined> => {
    const { store } = options;
    if (typeof store !== "function") return store;
    opened ??= store();
    return opened;
  };
  const { refresh, prepare, handOut } = createPreparer({ connection, transcripts, library, openStore });

  return {
    async run(given) {
      const results: SqlResult[] = [];
      for (const sql of toRun(given)) results.push(await runSteady(sql));
      return results;
    },
    async *stream(given) {
      for (const sql of toRun(given)) yield await started(sql);
    },
    prepare: handOut,
    interrupt: () => caller.stop(),
    async tables() {
      await refresh();
      return listTables(connection);
    },
    scannedBytes: () => transcripts.scannedBytes(),
    close() {
      connection.closeSync();
      instance.closeSync();
      rmSync(folder, { recursive: true, force: true });
    },
  };

  /**
   * Lines are numbered by what was counted before: if a file grew or went away meanwhile, once more. Only questions are
   * repeated, never what changes something.
   */
  async function runSteady(given: string): Promise<SqlResult> {
    await caller.begin();
    for (let attempt = 1; ;) {
      const { sql, prepared, isQuestion } = await prepare(given);
      const hasChanged = async (): Promise<boolean> => {
        const repeats = isQuestion && attempt < ATTEMPTS && (await refresh());
        if (repeats) attempt += 1;
        return repeats;
      };
      const reader = await caller
        .run(sql, () => prepared.runAndReadAll())
        .catch(async (error: unknown): Promise<undefined> => {
          // Lines that are too long are known once they were counted; only then more memory may help.
          const isNew = isQuestion && !transcripts.isCounted() && (isBadLine(error) || isFull(error));
          if (isNew) await transcripts.count();
          if (isNew || (await hasChanged()) || (await memory.gotRoom(error))) return;
          throw failure(sql, error);
        });
      if (!reader || (transcripts.scannedBytes() > 0 && (await hasChanged()))) continue;
      return hasAnswer(reader) ? { columns: columnsOf(reader), rows: rowsOf(reader) } : { columns: [], rows: [] };
    }
  }

  /** The answer row by row. What was handed out cannot be taken back, so everything is known before the first row. */
  async function started(given: string, { again } = { again: false }): Promise<SqlStream> {
    if (!again) await caller.begin();
    await refresh();
    const short = transcripts.isCounted() || again ? undefined : await shortAnswer(given);
    if (short) return short;
    const { sql, prepared, isQuestion, isNumbered } = await prepare(given, { counted: true });
    const transaction = isQuestion ? await beginStream(connection) : undefined;
    const begun = await caller
      .run(sql, () => prepared.stream())
      .catch(async (error: unknown) => {
        await transaction?.end();
        if ((await memory.gotRoom(error)) || (isMissingFile(error) && (await refresh()))) return undefined;
        throw failure(sql, error);
      });
    if (!begun) return started(given, { again: true });
    const result = begun;
    const isAnswer = hasAnswer(result);
    const numbered = transcripts.known();
    return { columns: isAnswer ? columnsOf(result) : [], rows: rows() };

    async function* rows(): AsyncGenerator<readonly Row[]> {
      try {
        const chunks = result.yieldRows();
        const types = result.columnTypes();
        for (;;) {
          const { done, value } = await caller.run(sql, () => chunks.next());
          if (done === true) break;
          if (isAnswer) yield value.map((row) => plainRow(row, types));
        }
        await caller.run(sql, async () => transaction?.check(prepared));
      } catch (error) {
        throw failure(sql, error);
      } finally {
        await transaction?.end();
      }
      if (isQuestion && isNumbered && (await refresh()) && !areNumbersRight(numbered, transcripts.known()))
        throw new SqlError(sql, "A file changed while it was read, so line numbers may be wrong. Ask again.");
    }
  }

  /**
   * An answer that is held before it is handed out needs no look at the files beforehand, can be asked again if one of them changes
   * meanwhile, and most are short. Undefined if it is longer, or if anything else happened: then the files are looked at.
   */
  async function shortAnswer(given: string, attempt = 1): Promise<SqlStream | undefined> {
    const { sql, prepared, isQuestion, isNumbered } = await prepare(given);
    if (!isQuestion || attempt > ATTEMPTS) return undefined;
    const transaction = await beginStream(connection);
    try {
      const reader = await caller.run(sql, () => prepared.streamAndReadUntil(SHORT_ROWS));
      if (!reader.done) return undefined;
      await caller.run(sql, () => transaction.check(prepared));
      const columns = columnsOf(reader);
      const rows = rowsOf(reader);
      if (!isNumbered || !(await refresh())) return { columns, rows: once(rows) };
    } catch {
      return undefined;
    } finally {
      await transaction.end();
    }
    return shortAnswer(given, attempt + 1);
  }
}

const toRun = (given: string): readonly string[] => statementsOf(given).filter((sql) => !isLoadOfOriginal(sql));

async function* once(rows: readonly Row[]): AsyncGenerator<readonly Row[]> {
  yield await Promise.resolve(rows);
}

function placeOfCopy(folder: string, library: LibraryConfig): CopyPlace | null {
  try {
    return copyPlace(folder, existingRoots(library));
  } catch (error) {
    if (isDataNotFoundError(error)) return null;
    throw error;
  }
}

/** The strict reader met what it cannot read, or a line that is longer than it expected. */
function isBadLine(error: unknown): boolean {
  return error instanceof Error && /JSON|maximum_object_size/.test(error.message);
}
