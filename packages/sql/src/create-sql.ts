import { join } from "node:path";
import type { DuckDBPreparedStatement } from "@duckdb/node-api";
import type { Store } from "@skein/core";
import { type LibraryConfig, existingRoots, isDataNotFoundError, sourceOfRoot } from "@skein/history/discover";
import { createCallerStatement } from "./answer/caller-statement.ts";
import { type SqlResult, runStatement } from "./answer/run-statement.ts";
import { type SqlStream, streamStatement } from "./answer/stream-statement.ts";
import { type CopyPlace, copyPlace } from "./copy/copy-place.ts";
import { createMemoryLimit } from "./database/memory-limit.ts";
import { openDatabase } from "./database/open-database.ts";
import { createTemporaryFolder } from "./database/temporary-folder.ts";
import { createPreparer } from "./plan/prepare-statement.ts";
import { isLoadOfAgentData } from "./plan/read-calls.ts";
import { commentOf, statementsOf } from "./plan/split-statements.ts";
import { createTableLoader } from "./sources/load-tables.ts";
import { type Table, listTables } from "./tables/list-tables.ts";
import { START } from "./tables/schema.ts";
import { scannedBytes } from "./transcripts/files.ts";
import { createFileFinder } from "./transcripts/find-files.ts";
import { createTranscripts } from "./transcripts/transcripts.ts";

interface SqlOptions {
  /**
   * Claude Code's data directories, and the folders that `withSources` of @skein/history made for other coding agents.
   * Default: the usual directories of Claude Code.
   */
  readonly roots?: readonly string[];
  /**
   * If true, Claude Code's tables are empty if no data directory exists. An export of all tables needs this. By
   * default, a statement that uses one of the tables fails.
   */
  readonly emptyWithoutRoots?: boolean;
  /**
   * The store with the platform's sessions, or a function that opens the store when a statement needs it. Without a
   * store, the tables of these sessions are empty. Skein does not close the store.
   */
  readonly store?: Store | (() => Promise<Store | undefined>);
  /** The cache folder for data about the files. It must not be inside a data directory. `null` stores nothing. */
  readonly cacheFolder?: string | null;
  /** The memory that DuckDB may use before it writes to its temporary folder. */
  readonly memoryLimit?: string;
  readonly threads?: number;
  /** Receives warnings, for example that a source is unknown. The rows do not contain them. */
  readonly onWarning?: (text: string) => void;
}

/** Answers SQL statements about Claude Code's files and a store's sessions, and changes neither. */
export interface Sql {
  /** Runs statements, one after the other. Throws `SqlError` for a statement that DuckDB rejects. */
  run(sql: string): Promise<readonly SqlResult[]>;
  /**
   * Runs statements like `run`, but returns rows in pieces and does not hold an answer in memory. The next statement
   * starts when the caller asks for its answer.
   */
  stream(sql: string): AsyncGenerator<SqlStream & { readonly comment: string }>;
  /** Prepares one statement and fills its tables, so that the caller can read the answer. */
  prepare(sql: string): Promise<DuckDBPreparedStatement>;
  /** Stops the running statement, which then fails. */
  interrupt(): void;
  /** Returns every table with its columns and their meanings. */
  tables(): Promise<readonly Table[]>;
  /**
   * Returns the size of the transcripts that queries read from the files, because the saved copy of them is out of
   * date.
   */
  scannedBytes(): number;
  close(): void;
}

/** The default memory limit of DuckDB. */
const MEGABYTES = 205;

export async function createSql(options: SqlOptions = {}): Promise<Sql> {
  const { roots, cacheFolder = null, memoryLimit, threads } = options;
  const temporary = createTemporaryFolder("skein-sql-");
  const folder = temporary.path;
  const { connection, close } = await openDatabase({
    folder,
    memoryLimit: memoryLimit ?? `${MEGABYTES}MB`,
    threads,
  });
  const started = connection.run(START);
  const library: LibraryConfig = {
    ...(roots === undefined ? {} : { dataPath: roots }),
    cacheFolder: cacheFolder === null ? null : join(cacheFolder, "history"),
  };
  const find = createFileFinder(library);
  try {
    // The files are found while DuckDB starts. So the first query only checks whether anything has changed.
    find();
  } catch {
    // Errors are ignored here, because the first query reports them.
  }
  await started;
  // The view of Claude Code's files gets a condition only if other coding agents have files, because a condition costs
  // time.
  if (roots?.some((root) => sourceOfRoot(root) !== "claude-code"))
    await connection.run(
      "CREATE OR REPLACE VIEW skein.claude_files AS SELECT * FROM skein.files WHERE source IN ('claude-code', 'claude-desktop')",
    );
  const memory = createMemoryLimit(connection, memoryLimit === undefined ? MEGABYTES : undefined);
  const ownFolder = cacheFolder === null ? null : join(cacheFolder, "sql");
  const transcripts = createTranscripts({
    connection,
    find,
    cacheFolder: ownFolder,
    copy: ownFolder === null ? null : placeOfCopy(ownFolder, library),
    folder,
    memory,
  });
  const loadTables = createTableLoader({
    connection,
    library,
    folder,
    openStore: storeOpener(options.store),
    warn: options.onWarning ?? (() => {}),
  });
  const preparer = createPreparer({
    connection,
    transcripts,
    loadTables,
    checkRoots: () => void (options.emptyWithoutRoots || existingRoots(library)),
  });
  const caller = createCallerStatement(connection, memory);
  const deps = { connection, preparer, caller, memory };

  return {
    async run(given) {
      const results: SqlResult[] = [];
      for (const sql of statementsIn(given)) results.push(await runStatement(deps, sql));
      return results;
    },
    async *stream(given) {
      for (const sql of statementsIn(given)) yield { ...(await streamStatement(deps, sql)), comment: commentOf(sql) };
    },
    prepare: preparer.handOut,
    interrupt: () => caller.stop(),
    async tables() {
      await preparer.refresh();
      await preparer.showHistory();
      return listTables(connection);
    },
    scannedBytes() {
      const files = transcripts.current();
      return files ? scannedBytes(files) : 0;
    },
    close() {
      close();
      temporary.remove();
    },
  };
}

const statementsIn = (given: string): readonly string[] => statementsOf(given).filter((sql) => !isLoadOfAgentData(sql));

/** Returns a function that opens the store once, when a statement first needs it. */
function storeOpener(store: Store | (() => Promise<Store | undefined>) | undefined): () => Promise<Store | undefined> {
  if (typeof store !== "function") return async () => store;
  let opened: Promise<Store | undefined> | undefined;
  return () => (opened ??= store());
}

function placeOfCopy(folder: string, library: LibraryConfig): CopyPlace | null {
  try {
    return copyPlace(folder, existingRoots(library));
  } catch (error) {
    if (isDataNotFoundError(error)) return null;
    throw error;
  }
}
