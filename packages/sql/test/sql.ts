import { DuckDBInstance, type Json } from "@duckdb/node-api";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Sql, type Value, createSql } from "@skein/sql";
import { onTestFinished } from "vitest";

/** Makes a folder that is removed at the end of the test. */
export function folder(name = "skein-sql-test-"): string {
  const path = mkdtempSync(join(tmpdir(), name));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Writes a file into a data directory. */
export function write(root: string, name: string, content: string | Uint8Array | readonly object[]): string {
  const path = join(root, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(
    path,
    typeof content === "string" || content instanceof Uint8Array
      ? content
      : content.map((line) => `${JSON.stringify(line)}\n`).join(""),
  );
  return path;
}

export async function open(root: string): Promise<Sql> {
  const sql = await createSql({ roots: [root], threads: 2 });
  onTestFinished(() => sql.close());
  return sql;
}

/** Returns the rows of one statement as objects. */
export async function ask(sql: Sql, statement: string): Promise<readonly Record<string, Value>[]> {
  const [result] = await sql.run(statement);
  if (!result) return [];
  const { columns, rows } = result;
  return rows.map((row) => Object.fromEntries(columns.map(({ name }, at) => [name, row[at] ?? null])));
}

/** Returns the rows of the last statement in a DuckDB without Skein. */
export async function rowsOf(database: string, statements: string): Promise<readonly Record<string, Json>[]> {
  const instance = await DuckDBInstance.create(database, { threads: "2" });
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(statements)).getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
