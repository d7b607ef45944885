import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance, type DuckDBResultReader, StatementType } from "@duckdb/node-api";
import type { Store } from "@skein/core";
import type { LibraryConfig } from "@skein/history";
import { TABLE_DOCS, columnDoc } from "./catalog.ts";
import { priceFunction } from "./price-function.ts";
import { loadOriginal } from "./original-tables.ts";
import { loadPlatform, namesPlatform } from "./platform.ts";
import { literals, plainPath } from "./quote.ts";
import { withoutReadCalls } from "./read-calls.ts";
import { loadNamed } from "./small-files.ts";
import { SqlError } from "./sql-error.ts";
import { CLAUDE_TABLES } from "./tables/claude-tables.ts";
import { PLATFORM_TABLES } from "./tables/platform-tables.ts";
import { SCAN } from "./tables/scan.ts";
import { SEED_TABLES } from "./tables/seed-tables.ts";
import { createTranscripts } from "./transcripts.ts";
import { type Column, type Row, columnsOf, rowsOf } from "./values.ts";

export interface SqlOptions {
  /** Claude Code's data directories; found by itself if not given. */
  readonly roots?: readonly string[];
  /** The platform's sessions; without one their tables are empty. It stays open. */
  readonly store?: Store;
  /** Skein's own folder for what is known of the files; `null` keeps nothing. Never inside a data directory. */
  readonly cacheFolder?: string | null;
  /** What DuckDB may use before it writes to its own temporary folder. */
  readonly memoryLimit?: string;
  readonly threads?: number;
}

/** The answer to one statement. */
export interface SqlResult {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}

/** SQL over Claude Code's files and a store's sessions. Both are only read. */
export interface Sql {
  /** Runs statements, one after the other. Refuses with `SqlError` what DuckDB refuses. */
  run(sql: string): Promise<readonly SqlResult[]>;
  /** Every table with its columns and what they mean. */
  tables(): Promise<readonly Table[]>;
  close(): void;
}

export interface Table {
  /** With its schema: `claude.responses`; the seed's five stand without one. */
  readonly name: string;
  readonly about: string;
  readonly columns: readonly (Column & { readonly about: string })[];
}

/** How often a statement is run again because a file changed while it was read. */
const ATTEMPTS = 3;

export async function createSql(options: SqlOptions = {}): Promise<Sql> {
  const folder = mkdtempSync(join(tmpdir(), "skein-sql-"));
  const emptyFile = join(folder, "empty.jsonl");
  writeFileSync(emptyFile, "");
  const instance = await DuckDBInstance.create(":memory:", {
    memory_limit: options.memoryLimit ?? "1GB",
    temp_directory: join(folder, "spill"),
    // Extensions would be fetched from the network in the middle of a statement.
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    ...(options.threads === undefined ? {} : { threads: String(options.threads) }),
  });
  const connection = await instance.connect();
  connection.registerScalarFunction(priceFunction());
  // A view is bound when it is made, and needs something to read.
  await connection.run(
    `SET VARIABLE skein_files = ${literals([plainPath(emptyFile)])}; SET VARIABLE skein_line_bytes = 65536`,
  );
  await connection.run(`${SCAN}${SEED_TABLES}${CLAUDE_TABLES}${PLATFORM_TABLES}`);
  const cacheFolder = options.cacheFolder ?? null;
  const library: LibraryConfig = {
    ...(options.roots === undefined ? {} : { dataPath: options.roots }),
    cacheFolder: cacheFolder === null ? null : join(cacheFolder, "history"),
  };
  const transcripts = createTranscripts({
    connection,
    library,
    cacheFolder: cacheFolder === null ? null : join(cacheFolder, "sql"),
    emptyFile,
  });

  return {
    async run(given) {
      await transcripts.refresh();
      const { sql, calls } = withoutReadCalls(given);
      if (options.store && namesPlatform(sql)) await loadPlatform(connection, options.store);
      for (const call of calls) await loadOriginal(connection, call, library);
      await loadNamed(connection, library, sql);
      const statements = await extracted(connection, sql);
      const results: SqlResult[] = [];
      for (let at = 0; at < statements.count; at += 1) results.push(await runSteady(sql, at));
      return results;
    },
    async tables() {
      const reader = await connection.runAndReadAll(
        "SELECT schema_name || '.' || table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY table_oid, column_index",
      );
      const columns = (reader.getRows() as [string, string, string][]).map(([table, name, type]) => ({
        table,
        name,
        type,
      }));
      return Object.entries(TABLE_DOCS).map(([table, about]) => ({
        name: table.replace(/^main\./, ""),
        about,
        columns: columns
          .filter((column) => column.table === table)
          .map(({ name, type }) => ({ name, type, about: columnDoc(table, name) ?? "" })),
      }));
    },
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
  async function runSteady(sql: string, at: number): Promise<SqlResult> {
    for (let attempt = 1; ; attempt += 1) {
      const prepared = await (await extracted(connection, sql)).prepare(at).catch(failed(sql));
      const repeats = prepared.statementType === StatementType.SELECT && attempt < ATTEMPTS;
      const reader = await prepared.runAndReadAll().catch(async (error: unknown): Promise<undefined> => {
        if (repeats && (await transcripts.refresh())) return;
        return failed(sql)(error);
      });
      if (reader && !(repeats && (await transcripts.refresh()))) return resultOf(reader);
    }
  }
}

function resultOf(reader: DuckDBResultReader): SqlResult {
  const columns = columnsOf(reader);
  return { columns, rows: rowsOf(reader, columns) };
}

async function extracted(connection: DuckDBConnection, sql: string) {
  return await connection.extractStatements(sql).catch(failed(sql));
}

const failed =
  (sql: string) =>
  (error: unknown): never => {
    throw new SqlError(sql, error instanceof Error ? error.message : String(error));
  };
