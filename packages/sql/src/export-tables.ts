import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Sql } from "./create-sql.ts";
import { literal } from "./quote.ts";

/**
 * Writes every table: as one Parquet file each into a folder, or all into one database where the target ends in
 * `.duckdb`. Answers what was written. A file that exists is never written over.
 */
export async function exportTables(sql: Sql, target: string): Promise<readonly string[]> {
  const tables = (await sql.tables()).map(({ name }) => name);
  if (target.endsWith(".duckdb")) {
    if (existsSync(target)) throw new Error(`${target} exists. Name a file that does not.`);
    const schemas = ["claude", "platform", "agent", "api"].map((schema) => `CREATE SCHEMA exported.${schema}`);
    await sql.run(`ATTACH ${literal(target)} AS exported; ${schemas.join("; ")}`);
    for (const table of tables) {
      const name = table.includes(".") ? table : `main.${table}`;
      await sql.run(`CREATE TABLE exported.${name} AS SELECT * FROM ${name}`);
    }
    await sql.run("DETACH exported");
    return [target];
  }
  mkdirSync(target, { recursive: true });
  const paths = tables.map((table) => ({ table, path: join(target, `${table}.parquet`) }));
  const known = paths.find(({ path }) => existsSync(path));
  if (known) throw new Error(`${known.path} exists. Name a folder without it.`);
  for (const { table, path } of paths)
    await sql.run(`COPY (SELECT * FROM ${table}) TO ${literal(path)} (FORMAT parquet)`);
  return paths.map(({ path }) => path);
}
