import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Sql } from "./create-sql.ts";
import { literal } from "./database/quote.ts";

export interface ExportTablesOptions {
  /** True to replace existing files. */
  readonly force?: boolean;
}

/**
 * Writes all tables into one database if the target ends in `.duckdb`. For any other target, writes a Parquet file per
 * table into a folder. Returns the written paths. Only `force` replaces existing files. If writing a table
 * fails, no existing file changes.
 */
export async function exportTables(
  sql: Sql,
  target: string,
  { force = false }: ExportTablesOptions = {},
): Promise<readonly string[]> {
  const tables = (await sql.tables()).map(({ name }) => name);
  const isDatabase = target.endsWith(".duckdb");
  const folder = isDatabase ? dirname(resolve(target)) : resolve(target);
  const names = isDatabase ? [basename(target)] : tables.map((table) => `${table}.parquet`);
  const paths = names.map((name) => join(isDatabase ? dirname(target) : target, name));
  const known = paths.find((path) => existsSync(path));
  if (known !== undefined && !force)
    throw new Error(`${known} exists. Choose another ${isDatabase ? "file" : "folder"}, or replace it with --force.`);
  const made = isDatabase ? undefined : mkdirSync(folder, { recursive: true });
  // The files first get temporary names, so existing files stay until all new files are complete.
  const work = mkdtempSync(join(folder, ".skein-"));
  try {
    await (isDatabase ? writeDatabase(sql, join(work, basename(target)), tables) : writeParquet(sql, work, tables));
    for (const name of names) renameSync(join(work, name), join(folder, name));
    rmSync(work, { recursive: true, force: true });
    return paths;
  } catch (error) {
    rmSync(made ?? work, { recursive: true, force: true });
    throw error;
  }
}

async function writeDatabase(sql: Sql, file: string, tables: readonly string[]): Promise<void> {
  const named = new Set(tables.flatMap((table) => (table.includes(".") ? [table.split(".")[0]] : [])));
  const schemas = [...named].map((schema) => `CREATE SCHEMA exported.${schema}`);
  try {
    await sql.run(`ATTACH ${literal(file)} AS exported; ${schemas.join("; ")}`);
    for (const table of tables) {
      const name = table.includes(".") ? table : `main.${table}`;
      await sql.run(`CREATE TABLE exported.${name} AS SELECT * FROM ${name}`);
    }
    await sql.run("DETACH exported");
  } catch (error) {
    // The database may not be attached yet.
    await sql.run("DETACH exported").catch(() => undefined);
    throw error;
  }
}

async function writeParquet(sql: Sql, folder: string, tables: readonly string[]): Promise<void> {
  for (const table of tables)
    await sql.run(`COPY (SELECT * FROM ${table}) TO ${literal(join(folder, `${table}.parquet`))} (FORMAT parquet)`);
}
