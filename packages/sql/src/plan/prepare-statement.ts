/**
 * Prepares statements in three steps: fills the tables, plans the statement, and executes the plan. Each step needs the
 * result of the step before it, so the order cannot be changed.
 */
import {
  type DuckDBConnection,
  type DuckDBExtractedStatements,
  type DuckDBPreparedStatement,
  StatementType,
} from "@duckdb/node-api";
import { failure } from "../sql-error.ts";
import type { LoadTables } from "../sources/load-tables.ts";
import { HISTORY_TABLES } from "../tables/claude-tables.ts";
import { TABLES } from "../tables/schema.ts";
import type { Files } from "../transcripts/files.ts";
import type { Transcripts } from "../transcripts/transcripts.ts";
import { namesClaude, namesHistory, namesTranscripts } from "./named-tables.ts";
import { type Statement, readStatement } from "./statement.ts";
import {
  type Explanation,
  type StatementPlan,
  formToExplain,
  needsExplanation,
  planStatement,
} from "./statement-plan.ts";

export interface PreparerDeps {
  readonly connection: DuckDBConnection;
  readonly transcripts: Transcripts;
  readonly loadTables: LoadTables;
  /** Throws if there is no data directory of Claude Code. */
  readonly checkRoots: () => void;
}

/** A statement that is ready to run. */
interface Prepared {
  readonly plan: StatementPlan;
  /** The files that the tables show. */
  readonly files: Files;
  readonly statement: DuckDBPreparedStatement;
  /** True if the statement changes nothing, so that it may run again. */
  readonly isQuery: boolean;
}

interface PrepareOptions {
  /**
   * Whether the rows of every file are counted first, so that the reader does not fail on a bad line. True for callers
   * that run the statement only once.
   */
  readonly counted: boolean;
}

export interface Preparer {
  /** Updates the tables to the current content of the files. */
  refresh(): Promise<Files>;
  /**
   * Makes the tables of the schema `history`. Without this call, the first statement that names a table of this schema
   * makes them.
   */
  showHistory(): Promise<void>;
  prepare(given: string, options: PrepareOptions): Promise<Prepared>;
  /** Prepares a statement that the caller keeps. Later queries do not reuse this statement. */
  handOut(given: string): Promise<DuckDBPreparedStatement>;
}

/**
 * The number of attempts to prepare a statement, or to search for files. An attempt fails if a file is deleted during
 * the attempt.
 */
const ATTEMPTS = 3;

export function createPreparer({ connection, transcripts, loadTables, checkRoots }: PreparerDeps): Preparer {
  let hasTables = false;
  let hasHistory = false;
  /** The last statement, if `prepare` may return it again. */
  let last: Prepared | undefined;
  return { refresh, showHistory, prepare, handOut };

  async function refresh(): Promise<Files> {
    const files = await againIfMissing(() => transcripts.refresh());
    if (files.stamp !== last?.files.stamp) last = undefined;
    if (!hasTables) await connection.run(TABLES);
    hasTables = true;
    return files;
  }

  async function showHistory(): Promise<void> {
    if (!hasHistory) await connection.run(HISTORY_TABLES);
    hasHistory = true;
  }

  async function handOut(given: string): Promise<DuckDBPreparedStatement> {
    // Counting reads every file, so it is skipped for a statement that reads no transcript.
    const { statement } = await prepare(given, { counted: namesTranscripts(given) });
    last = undefined;
    return statement;
  }

  async function prepare(given: string, { counted }: PrepareOptions): Promise<Prepared> {
    for (let attempt = 1; ; attempt += 1) {
      const files = await refresh();
      if (namesHistory(given)) await showHistory();
      if (last?.plan.statement.given === given) return last;
      last = undefined;
      try {
        const loaded = await load(readStatement(given), files);
        const explained = await explain(loaded, counted);
        const { statement, parts, explanation } = explained;
        const plan = planStatement(statement, { parts: parts.count, explanation, counted });
        const prepared = await carryOut(plan, explained);
        if (plan.isReusable && prepared.isQuery) last = prepared;
        return prepared;
      } catch (error) {
        if (!isMissingFile(error)) throw error;
        // A file was deleted after the search found it. The next attempt runs without this file.
        if (attempt === ATTEMPTS || (await refresh()).stamp === files.stamp) throw failure(given, error);
      }
    }
  }

  async function load(statement: Statement, files: Files): Promise<Loaded> {
    const parts = await connection.extractStatements(statement.sql).catch((error: unknown) => {
      throw failure(statement.sql, error);
    });
    // The statement is rejected if there are no data directories. Empty tables would look as if Claude Code had never
    // been used.
    if (namesClaude(statement.sql)) checkRoots();
    await loadTables(statement.loads);
    return { statement, files, parts };
  }

  /** Explains the statement only after the tables are loaded, because DuckDB plans differently for an empty table. */
  async function explain({ statement, files, parts }: Loaded, counted: boolean): Promise<Explained> {
    const shown = await transcripts.show(files, formToExplain(statement, counted));
    const explanation: Explanation = needsExplanation(statement, shown)
      ? await explanationOf(connection, statement.sql)
      : { kind: "unneeded" };
    return { statement, files: shown, parts, explanation };
  }

  async function carryOut(plan: StatementPlan, { files, parts }: Explained): Promise<Prepared> {
    const shown = await transcripts.show(files, plan.form);
    try {
      // The first parts of a PIVOT determine its columns.
      for (let at = 0; at < parts.count - 1; at += 1) await (await parts.prepare(at)).run();
      const statement = await parts.prepare(parts.count - 1);
      return { plan, files: shown, statement, isQuery: statement.statementType === StatementType.SELECT };
    } catch (error) {
      throw failure(plan.statement.sql, error);
    }
  }
}

/** A statement whose tables are filled. */
interface Loaded {
  readonly statement: Statement;
  readonly files: Files;
  readonly parts: DuckDBExtractedStatements;
}

interface Explained extends Loaded {
  readonly explanation: Explanation;
}

/** Searches for files, and repeats the search if a file is deleted during the search. */
async function againIfMissing<Value>(look: () => Promise<Value>): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await look();
    } catch (error) {
      if (attempt === ATTEMPTS || !isMissingFile(error)) throw error;
    }
  }
}

/** Recognises DuckDB's error for a file that was deleted after the search found it. */
export function isMissingFile(error: unknown): boolean {
  return error instanceof Error && /^IO Error: (No files found|Cannot open file)/.test(error.message);
}

async function explanationOf(connection: DuckDBConnection, sql: string): Promise<Explanation> {
  try {
    const reader = await connection.runAndReadAll(`EXPLAIN (FORMAT JSON) ${sql}`);
    return { kind: "explained", json: String(reader.getRows()[0]?.[1]) };
  } catch {
    return { kind: "unavailable" };
  }
}
