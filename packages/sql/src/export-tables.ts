import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Sql } from "./create-sql.ts";
import { literal } from "./database/quote.ts";

/**
 * Writes every table: one Parquet file each into a folder, or all into one database if the target ends in `.duckdb`. Returns
 * the paths that were written. An existing file is never overwritten, and a failed export leaves no file behind.
 */
export async function exportTables(sql: Sql, target: string): Promise<readonly string[]> {
  const tables = (await sql.tables()).map(({ name }) => name);
  return target.endsWith(".duckdb") ? exportDatabase(sql, target, tables) : exportParquet(sql, target, tables);
}

async function exportDatabase(sql: Sql, target: string, tables: readonly string[]): Promise<readonly string[]> {
  if (existsSync(target)) throw new Error(`${target} exists. Choose a file that does not exist.`);
  const schemas = ["claude", "platform", "agent", "api"].map((schema) => `CREATE SCHEMA exported.${schema}`);
  try {
    await sql.run(`ATTACH ${literal(target)} AS exported; ${schemas.join("; ")}`);
    for (const table of tables) {
      const name = table.includes(".") ? table : `main.${table}`;
      await sql.run(`CREATE TABLE exported.${name} AS SELECT * FROM ${name}`);
    }
    await sql.run("DETACH exported");
    return [target];
  } catch (error) {
    // The database may not be attached yet.
    await sql.run("DETACH exported").catch(() => undefined);
    for (const path of [target, `${target}.wal`]) rmSync(path, { force: true });
    throw error;
  }
}

async function exportParquet(sql: Sql, target: string, tables: readonly string[]): Promise<readonly string[]> {
  const made = mkdirSync(target, { recursive: true });
  const paths = tables.map((table) => ({ table, path: join(target, `${table}.parquet`) }));
  const known = paths.find(({ path }) => existsSync(path));
  if (known) throw new Error(`${known.path} exists. Choose another folder.`);
  try {
    for (const { table, path } of paths)
      await sql.run(`COPY (SELECT * FROM ${table}) TO ${literal(path)} (FORMAT parquet)`);
    return paths.map(({ path }) => path);
  } catch (error) {
    for (const { path } of paths) rmSync(path, { force: true });
    if (made !== undefined) rmSync(made, { recursive: true, force: true });
    throw error;
  }
}
