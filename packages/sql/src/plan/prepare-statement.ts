/**
 * Readies statements: before one runs, the tables that it may ask hold what there is now, and the views over the files have the
 * form that it needs.
 */
import { type DuckDBConnection, type DuckDBPreparedStatement, StatementType } from "@duckdb/node-api";
import type { Store } from "@skein/core";
import type { LibraryConfig } from "@skein/history/discover";
import { namesPlatform, namesSmallFiles } from "./named-tables.ts";
import { filePlaces } from "./file-filters.ts";
import { type ReadCall, withoutReadCalls } from "./read-calls.ts";
import { failure } from "../sql-error.ts";
import { NO_LINE } from "../tables/scan.ts";
import { TABLES } from "../tables/schema.ts";
import type { Transcripts } from "../transcripts/transcripts.ts";

export interface PreparerDeps {
  readonly connection: DuckDBConnection;
  readonly transcripts: Transcripts;
  readonly library: LibraryConfig;
  /** The platform's sessions; opened by the first statement that names them. */
  openStore(): Promise<Store | undefined>;
}

/** A statement that is ready. */
interface Prepared {
  /** As the caller wrote it. */
  readonly given: string;
  readonly sql: string;
  readonly prepared: DuckDBPreparedStatement;
  readonly isQuestion: boolean;
  /** Whether it asks for the numbers of lines. */
  readonly isNumbered: boolean;
}

export interface Preparer {
  /** Makes the tables agree with the files. Answers whether anything had changed. */
  refresh(): Promise<boolean>;
  /** Counted: for an answer of which nothing can be taken back; no line is left that the reader could stumble over. */
  prepare(given: string, how?: { readonly counted: boolean }): Promise<Prepared>;
  /** For somebody else, whose statement it then is. */
  handOut(given: string): Promise<DuckDBPreparedStatement>;
}

/** How often a statement is readied again because a file went away. */
const ATTEMPTS = 3;

/** What a plan has that needs the numbers of lines. */
const LINES = new RegExp(`${NO_LINE}|first_row|first_line`);

export function createPreparer({ connection, transcripts, library, openStore }: PreparerDeps): Preparer {
  let isReady = false;
  /** The last question, if it asks nothing but the copy: as long as that stays, it need not be planned again. */
  let planned: Prepared | undefined;
  return { refresh, prepare, handOut };

  async function refresh(): Promise<boolean> {
    const hasChanged = await withoutMissing(() => transcripts.refresh());
    if (hasChanged) planned = undefined;
    if (!isReady) await connection.run(TABLES);
    isReady = true;
    return hasChanged;
  }

  async function handOut(given: string): Promise<DuckDBPreparedStatement> {
    const { prepared } = await prepare(given, { counted: true });
    planned = undefined;
    return prepared;
  }

  async function prepare(given: string, how = { counted: false }): Promise<Prepared> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await ready(given, how);
      } catch (error) {
        if (!isMissingFile(error)) throw error;
        // It went away after it was found: once more without it.
        if (attempt === ATTEMPTS || !(await refresh())) throw failure(given, error);
      }
    }
  }

  async function ready(given: string, { counted }: { readonly counted: boolean }): Promise<Prepared> {
    await refresh();
    if (planned?.given === given) return planned;
    planned = undefined;
    if (counted) await transcripts.count();
    const { sql, calls } = withoutReadCalls(given);
    const hasOthers = await loadOthers(sql, calls);
    await transcripts.number(false);
    await transcripts.restrict(null);
    const isOfLines = /lines/i.test(sql);
    if (isOfLines) await transcripts.showLines();
    const plan = transcripts.scannedBytes() > 0 || isOfLines ? await planOf(connection, sql) : "";
    // A statement without a plan may read anything.
    const isNumbered = plan === undefined || LINES.test(plan);
    if (isNumbered || /damage/.test(plan ?? "")) await transcripts.count();
    if (plan !== undefined && plan !== "") await transcripts.restrict(await filePlaces(connection, plan, sql));
    await transcripts.number(isNumbered);
    const prepared = await lastOf(sql).catch((error: unknown) => {
      throw failure(sql, error);
    });
    const isQuestion = prepared.statementType === StatementType.SELECT;
    const made = { given, sql, prepared, isQuestion, isNumbered };
    if (isQuestion && plan === "" && !hasOthers) planned = made;
    return made;
  }

  /** DuckDB makes several statements of some: a PIVOT first looks what columns it has. */
  async function lastOf(sql: string): Promise<DuckDBPreparedStatement> {
    const statements = await connection.extractStatements(sql);
    // They are not asked again if they stumble over a line.
    if (statements.count > 1) await transcripts.count();
    for (let at = 0; at < statements.count - 1; at += 1) await (await statements.prepare(at)).run();
    return statements.prepare(statements.count - 1);
  }

  /** Fills the tables of what is no transcript, each only for a statement that may need it. Answers whether there are any. */
  async function loadOthers(sql: string, calls: readonly ReadCall[]): Promise<boolean> {
    const isPlatform = namesPlatform(sql);
    if (isPlatform) {
      const store = await openStore();
      const { loadPlatform } = await import("../platform/load-platform.ts");
      if (store) await loadPlatform(connection, store);
    }
    if (calls.length > 0) {
      const { loadOriginal } = await import("../sources/read-functions.ts");
      for (const call of calls) await loadOriginal(connection, call, library);
    }
    const isSmall = namesSmallFiles(sql);
    if (isSmall) {
      const { loadNamed } = await import("../sources/small-files.ts");
      await loadNamed(connection, library, sql);
    }
    const isBranches = /branches/i.test(sql);
    if (isBranches) await transcripts.readBranches();
    return isPlatform || calls.length > 0 || isSmall || isBranches;
  }
}

/** Files are looked for again if one of them went away since they were found. */
async function withoutMissing<Value>(look: () => Promise<Value>): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await look();
    } catch (error) {
      if (attempt === ATTEMPTS || !isMissingFile(error)) throw error;
    }
  }
}

/** A file that was there when it was looked for is gone. */
export function isMissingFile(error: unknown): boolean {
  return error instanceof Error && /^IO Error: (No files found|Cannot open file)/.test(error.message);
}

/** How DuckDB would answer a question; undefined where the statement is none. */
async function planOf(connection: DuckDBConnection, sql: string): Promise<string | undefined> {
  try {
    const reader = await connection.runAndReadAll(`EXPLAIN (FORMAT JSON) ${sql}`);
    return String(reader.getRows()[0]?.[1]);
  } catch {
    return undefined;
  }
}
