import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { createSql, exportTables } from "@skein/sql";
import { writeCorpus } from "@skein/history/testing";
import { expect, test, vi } from "vitest";
import { ask, folder, open } from "./sql.ts";

test("every table and column is documented, and every documented table exists", async () => {
  const sql = await open(folder());
  const tables = await sql.tables();
  const found = await ask(
    sql,
    "SELECT DISTINCT if(schema_name = 'main', '', schema_name || '.') || table_name AS t FROM duckdb_columns() WHERE NOT internal AND (schema_name NOT IN ('skein', 'scan') OR table_name = 'audit')",
  );
  expect(new Set(tables.map(({ name }) => name))).toEqual(new Set(found.map(({ t }) => t)));
  for (const { name, about, columns } of tables) {
    expect(about, name).not.toBe("");
    expect(columns, name).not.toEqual([]);
    // No description may call columns a key, because two records in one line share file and line.
    expect(about, name).not.toMatch(/\bkey is\b/);
    for (const column of columns) expect(column.about, `${name}.${column.name}`).not.toBe("");
  }
});

test("an export to Parquet and to a database has the rows of the tables and overwrites a file only if requested", async () => {
  const root = folder();
  writeCorpus({ folder: root, files: 4, bytes: 100_000 });
  const sql = await open(root);
  const count = "SELECT count(*) AS n, sum(cost_micros) AS micros FROM";
  const [expected] = await ask(sql, `${count} claude.responses`);
  const target = join(folder(), "it's here");
  const paths = await exportTables(sql, target);
  expect(paths.every(existsSync)).toBe(true);
  const quoted = join(target, "claude.responses.parquet").replaceAll("'", "''");
  expect(await ask(sql, `${count} '${quoted}'`)).toEqual([expected]);
  await expect(exportTables(sql, target)).rejects.toThrow("exists");
  expect(await exportTables(sql, target, { force: true })).toEqual(paths);
  const database = join(folder(), "all.duckdb");
  await exportTables(sql, database);
  await expect(exportTables(sql, database)).rejects.toThrow("--force");
  expect(await exportTables(sql, database, { force: true })).toEqual([database]);
  expect(readdirSync(dirname(database))).toEqual(["all.duckdb"]);
  const other = await createSql({ roots: [folder()] });
  await other.run(`ATTACH '${database}' AS exported (READ_ONLY)`);
  expect(await ask(other, `${count} exported.claude.responses`)).toEqual([expected]);
  other.close();
});

test("a statement that DuckDB rejects throws a SqlError with its message and the place", async () => {
  const sql = await open(folder());
  await expect(sql.run("SELECT mesage FROM claude.messages")).rejects.toMatchObject({
    name: "SqlError",
    message: expect.stringMatching(/mesage[^]*LINE 1:[^]*\^/) as string,
  });
  await expect(sql.run("SELEC 1")).rejects.toMatchObject({ name: "SqlError" });
});

test("without a data directory, the tables of Claude Code fail and the tables of the platform work", async () => {
  vi.stubEnv("CLAUDE_CONFIG_DIR", join(folder(), "missing"));
  const sql = await createSql();
  try {
    for (const table of ["claude_conversations", "claude.messages", "CLAUDE . sessions"])
      await expect(sql.run(`FROM ${table}`), table).rejects.toMatchObject({ name: "DataNotFoundError" });
    const others = ["SELECT count(*) FROM platform.sessions", "FROM all_usage", "SELECT 'FROM claude.messages'"];
    for (const statement of others) await sql.run(statement);
  } finally {
    sql.close();
    vi.unstubAllEnvs();
  }
});
