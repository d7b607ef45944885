/**
 * The least time that a copy of the transcripts can take, in one process: DuckDB stores every line as it is, or
 * JavaScript parses every line.
 *
 *     node floors.ts FOLDER WORK
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { discover } from "@skein/history";
import { createSql } from "@skein/sql";

const [folder = "", work = ""] = process.argv.slice(2);

async function timed(run: () => Promise<void>): Promise<{ readonly ms: number; readonly processorMs: number }> {
  const start = performance.now();
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - start, processorMs: (user + system) / 1000 };
}

async function storeLines(): Promise<void> {
  // A database without data: this measures DuckDB itself.
  const nothing = join(work, "nothing");
  mkdirSync(nothing);
  const sql = await createSql({ roots: [nothing], threads: 2, memoryLimit: "600MB" });
  const files = `'${join(folder, "projects/**/*.jsonl").replaceAll("'", "''")}'`;
  await sql.run(`ATTACH '${join(work, "floor.duckdb")}' AS floor`);
  await sql.run(
    `CREATE TABLE floor.lines AS SELECT json FROM read_ndjson_objects(${files}, format = 'newline_delimited', ignore_errors = true)`,
  );
  sql.close();
}

async function parseLines(): Promise<void> {
  for (const { path } of discover({ dataPath: folder }).files)
    for (const line of readFileSync(path, "utf8").split("\n"))
      try {
        if (line !== "") JSON.parse(line);
      } catch {
        // A damaged line is in none of the tables.
      }
}

console.log(JSON.stringify({ stored: await timed(storeLines), parsed: await timed(parseLines) }));
