/**
 * The program that writes databases for the sandbox. It is a child of the server, so that DuckDB is not loaded into the
 * server.
 *
 * It runs no statements of clients. It never changes a database, because a query may be reading the file. It makes the
 * next database from a copy.
 */
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { buildCopy } from "../copy/build-copy.ts";
import { type Sql, createSql } from "../create-sql.ts";
import { literal, plainPath } from "../database/quote.ts";
import { PLATFORM_COLUMNS } from "../tables/platform-tables.ts";
import type { WriteAnswer, WriteRequest, RowsFile, RowsRequest } from "./database-writer.ts";

let last: Promise<unknown> = Promise.resolve();
process.on("message", (request: WriteRequest) => {
  last = last.then(() => answer(request));
});
// The server has ended.
process.on("disconnect", () => process.exit());

async function answer(request: WriteRequest): Promise<void> {
  const { id } = request;
  try {
    if (request.kind === "copy") await buildCopy(request.history);
    else await write(request);
    process.send?.({ id } satisfies WriteAnswer);
  } catch (error) {
    process.send?.({ id, error: String(error) } satisfies WriteAnswer);
  }
}

async function write({ folder, from, to, gone, compact, tables }: RowsRequest): Promise<void> {
  await making(to, async (file) => {
    copyFileSync(from ?? (await template(folder)), file);
    await inDatabase(file, async (connection) => {
      await connection.run("BEGIN");
      await connection.run(`CREATE TEMP TABLE gone AS FROM ${rowsIn(gone, { id: "VARCHAR" })}`);
      for (const { table, sessionColumn, rows } of tables) {
        await connection.run(
          `DELETE FROM ${table}${sessionColumn === null ? "" : ` WHERE ${sessionColumn} IN (FROM gone)`}`,
        );
        if (rows) await connection.run(`INSERT INTO ${table} FROM ${rowsIn(rows, PLATFORM_COLUMNS[table])}`);
      }
      await connection.run("COMMIT");
    });
    if (compact) await making(file, (fresh) => copyRows(file, fresh));
  });
}

/**
 * Copies the rows into a new file. The old file still contains the bytes of deleted rows, and a statement could read
 * them.
 */
async function copyRows(from: string, to: string): Promise<void> {
  await inDatabase(":memory:", async (connection) => {
    await connection.run(`ATTACH ${literal(from)} AS whole (READ_ONLY); ATTACH ${literal(to)} AS fresh`);
    await connection.run("COPY FROM DATABASE whole TO fresh; CHECKPOINT fresh; DETACH fresh");
  });
}

/**
 * Returns the path of a database without rows. The database has all tables and views, but empty tables replace the
 * views over files.
 */
async function template(folder: string): Promise<string> {
  const to = join(folder, "template.duckdb");
  if (existsSync(to)) return to;
  const empty = join(folder, "empty");
  mkdirSync(empty, { recursive: true });
  const source = await createSql({ roots: [empty], cacheFolder: null });
  try {
    const statements = await shapeOf(source);
    await making(to, (file) =>
      inDatabase(file, async (connection) => {
        for (const statement of statements) await connection.run(statement);
      }),
    );
    return to;
  } finally {
    source.close();
  }
}

async function shapeOf(source: Sql): Promise<readonly string[]> {
  const rows = async (statement: string): Promise<readonly (readonly string[])[]> =>
    ((await source.run(statement))[0]?.rows ?? []) as readonly (readonly string[])[];
  const views = await rows(
    `SELECT if(schema_name = 'main', view_name, schema_name || '.' || view_name), sql FROM duckdb_views()
    WHERE NOT internal AND (schema_name IN ('platform', 'agent', 'api') OR starts_with(view_name, 'all_')) ORDER BY view_oid`,
  );
  const macros = await rows(
    `SELECT function_name, array_to_string(parameters, ', '), macro_definition FROM duckdb_functions()
    WHERE schema_name = 'skein' AND function_type = 'macro' ORDER BY function_oid`,
  );
  const platform = Object.entries(PLATFORM_COLUMNS).map(([name, columns]) => ({
    name,
    columns: Object.entries(columns).map(([column, type]) => ({ name: column, type })),
  }));
  const isKnown = new Set([...views.map(([name]) => name), ...platform.map(({ name }) => name)]);
  const files = (await source.tables()).filter(({ name }) => !isKnown.has(name));
  return [
    ...["platform", "agent", "api", "claude", "history", "skein"].map((schema) => `CREATE SCHEMA ${schema}`),
    ...macrosIn(
      views.map(([, sql = ""]) => sql),
      macros,
    ),
    ...[...files, ...platform].map(
      ({ name, columns }) =>
        `CREATE TABLE ${name} (${columns.map((column) => `"${column.name}" ${column.type}`).join(", ")})`,
    ),
    ...views.map(([, sql = ""]) => sql),
  ];
}

/**
 * Returns the macros that the texts use, directly or through other macros. The order is the order of their definitions.
 */
function macrosIn(texts: readonly string[], macros: readonly (readonly string[])[]): readonly string[] {
  const used = macros.filter(([name = ""]) => texts.some((text) => new RegExp(`skein\\."?${name}"?\\(`).test(text)));
  const more = used.map(([, , definition = ""]) => definition).filter((definition) => !texts.includes(definition));
  if (more.length > 0) return macrosIn([...texts, ...more], macros);
  return used.map(([name, parameters, definition]) => `CREATE MACRO skein."${name}"(${parameters}) AS ${definition}`);
}

/** Writes a file so that `file` is never incomplete. */
async function making(file: string, make: (unfinished: string) => Promise<void>): Promise<void> {
  const unfinished = `${file}.new`;
  rmSync(unfinished, { force: true });
  try {
    await make(unfinished);
    renameSync(unfinished, file);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

async function inDatabase(file: string, work: (connection: DuckDBConnection) => Promise<void>): Promise<void> {
  const instance = await DuckDBInstance.create(file, { memory_limit: "512MB", preserve_insertion_order: "false" });
  try {
    const connection = await instance.connect();
    try {
      await work(connection);
      // A reader opens only this file, not its write-ahead log.
      await connection.run("CHECKPOINT");
    } finally {
      connection.closeSync();
    }
  } finally {
    instance.closeSync();
  }
}

function rowsIn({ file, longest }: RowsFile, columns: Readonly<Record<string, string>>): string {
  const types = Object.entries(columns).map(([name, type]) => `${literal(name)}: ${literal(type)}`);
  return `read_ndjson(${literal(plainPath(file))}, columns = {${types.join(", ")}}, maximum_object_size = ${Math.max(longest + 1, 65_536)})`;
}
