/** Counts the rows of each transcript, finds the longest row, and checks whether DuckDB can read all rows. */
import type { DuckDBConnection } from "@duckdb/node-api";
import type { DataFile } from "@skein/history/discover";
import type { RowCount } from "./file-details.ts";
import type { MemoryLimit } from "../database/memory-limit.ts";
import { literals, plainPath } from "../database/quote.ts";
import type { ShortFiles } from "./short-files.ts";
import { COUNT_ROWS } from "../tables/scan.ts";

export interface CountDeps {
  readonly connection: DuckDBConnection;
  readonly memory: MemoryLimit;
  readonly shortFiles: ShortFiles;
}

export async function countRows(deps: CountDeps, files: readonly DataFile[]): Promise<ReadonlyMap<DataFile, RowCount>> {
  const { connection, memory, shortFiles } = deps;
  const short = files.map((file) => shortFiles.of(file));
  const paths = files.map(({ path }, at) => plainPath(short[at]?.path ?? path));
  await connection.run(`SET VARIABLE skein_new_files = ${literals(paths)}`);
  const reader = await connection.runAndReadAll(COUNT_ROWS).catch(async (error: unknown) => {
    if (!(await memory.raise(error))) throw error;
    return connection.runAndReadAll(COUNT_ROWS);
  });
  const counts = new Map(
    files.map((file, at) => [file, { rows: 0, isDamaged: false, longest: 0, isLong: short[at] !== undefined }]),
  );
  for (const row of reader.getRows()) {
    const [at = 0, rows = 0, longest = 0, bad = 0] = row.map(Number);
    const file = files[at];
    if (file) counts.set(file, { rows, isDamaged: bad > 0, longest, isLong: short[at] !== undefined });
  }
  return counts;
}
