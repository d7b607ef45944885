/** The next copy while it is made: a DuckDB file, attached for writing, that receives the rows of the scanned files. */
import { chmodSync, constants, copyFileSync, existsSync, rmSync } from "node:fs";
import type { DuckDBConnection } from "@duckdb/node-api";
import { appendRows } from "../database/load-rows.ts";
import { literal, literals } from "../database/quote.ts";
import { ATTACH_BATCH, BATCH_VIEWS, readBatch } from "../tables/batch.ts";
import { BATCH_PIECES, PIECES, PIECE_NAMES, READ_PIECES } from "../tables/pieces.ts";
import { pricedRequests } from "../tables/requests.ts";
import { MOST_LINE_BYTES } from "../tables/scan.ts";
import type { Files, KnownFile } from "../transcripts/files.ts";
import { type CopiedFile, readCopiedFiles } from "./read-copy.ts";

export interface NextCopy {
  /** Whether the copy began without the rows of an earlier copy. */
  readonly isNew: boolean;
  /** The files whose rows the copy began with, by path. */
  readonly copied: ReadonlyMap<string, CopiedFile>;
  /** Adds the rows of these files. The views of the scan must show these files. All rows are added, or none. */
  add(files: Files): Promise<void>;
  /** Removes the rows of files. */
  remove(paths: readonly string[]): Promise<void>;
  /** Completes the file and detaches it. The views of the scan must exist. */
  finish(): Promise<void>;
}

const NEXT = "next_copy";
/** The row groups are small, so that two threads have work in a small copy. */
const ATTACH = "STORAGE_VERSION 'latest', ROW_GROUP_SIZE 8192";
/** Columns that a search reads completely: uncompressed, they are read at the speed of memory. */
const UNCOMPRESSED = new Set(["conversation.content"]);
/** Columns with long texts that few queries need. */
const STRONGLY_COMPRESSED = new Set([
  "tool_call.result",
  "tool_call.tool_use_result",
  "tool_call.input",
  "message.text",
  "message.thinking",
]);
/** If more than this share of all rows was deleted, the copy is created again, because DuckDB does not reuse their space. */
const MOST_WASTE = 0.3;
/** If a file has a line that is longer than this, the files are scanned once for each table, which needs less memory. */
const MOST_BATCH_LINE_BYTES = 2 * 1024 * 1024;

const FILE_COLUMNS = {
  path: "VARCHAR",
  place: "BIGINT",
  size: "BIGINT",
  mtime: "DOUBLE",
  inode: "BIGINT",
  rows: "BIGINT",
  is_damaged: "BOOLEAN",
  is_long: "BOOLEAN",
  longest: "BIGINT",
  cwd: "VARCHAR",
  session_id: "VARCHAR",
};

/** Begins with a clone of an earlier copy if there is one that can be read. With `from` null, it begins empty. */
export async function openNextCopy(connection: DuckDBConnection, file: string, from: string | null): Promise<NextCopy> {
  const cloned = from === null ? undefined : await attachClone(connection, from, file);
  if (!cloned) await attachNew(connection, file);
  const copied: ReadonlyMap<string, CopiedFile> = cloned ?? new Map();
  await connection.run(ATTACH_BATCH);
  let hasTables = cloned !== undefined;
  let lastPlace = [...copied.values()].reduce((least, { place }) => Math.min(least, place), 0);

  async function makeTables(): Promise<void> {
    if (!hasTables) await createTables(connection);
    hasTables = true;
  }

  return {
    isNew: cloned === undefined,
    copied,
    async add({ known }) {
      await makeTables();
      await addRows(connection, known, lastPlace - 1);
      lastPlace -= known.length;
    },
    remove: (paths) => removeRows(connection, paths),
    async finish() {
      await makeTables();
      await connection.run(
        `CREATE OR REPLACE TABLE ${NEXT}.repeated AS SELECT id FROM ${NEXT}.request GROUP BY id HAVING count(*) > 1`,
      );
      await connection.run(`CHECKPOINT ${NEXT}`);
      await connection.run(`DETACH ${NEXT}`);
    },
  };
}

/** Undefined if there is no earlier copy, or if it cannot be read or wastes too much space. */
async function attachClone(
  connection: DuckDBConnection,
  from: string,
  file: string,
): Promise<ReadonlyMap<string, CopiedFile> | undefined> {
  if (!existsSync(from)) return undefined;
  try {
    copyFileSync(from, file, constants.COPYFILE_FICLONE);
    chmodSync(file, 0o600);
    await connection.run(`ATTACH ${literal(file)} AS ${NEXT}`);
  } catch {
    return undefined;
  }
  try {
    const copied = await readCopiedFiles(connection, NEXT);
    if ((await wasteOf(connection)) <= MOST_WASTE) return copied;
  } catch {
    // The file is not a copy or is damaged: the copy is created again.
  }
  await connection.run(`DETACH ${NEXT}`);
  return undefined;
}

async function attachNew(connection: DuckDBConnection, file: string): Promise<void> {
  for (const path of [file, `${file}.wal`]) rmSync(path, { force: true });
  await connection.run(`ATTACH ${literal(file)} AS ${NEXT} (${ATTACH})`);
  chmodSync(file, 0o600);
  const columns = Object.entries(FILE_COLUMNS).map(([name, type]) => `${name} ${type}`);
  await connection.run(
    `CREATE TABLE ${NEXT}.files (${columns.join(", ")});
    CREATE TABLE ${NEXT}.waste (rows BIGINT); INSERT INTO ${NEXT}.waste VALUES (0)`,
  );
}

/** The tables have the columns of the views that they are filled from. */
async function createTables(connection: DuckDBConnection): Promise<void> {
  for (const piece of PIECE_NAMES) {
    const reader = await connection.runAndReadAll(`DESCRIBE scan.${piece}`);
    const columns = reader.getRows().map(([name, type]) => {
      const column = `${piece}.${String(name)}`;
      const compression = UNCOMPRESSED.has(column)
        ? " USING COMPRESSION uncompressed"
        : STRONGLY_COMPRESSED.has(column)
          ? " USING COMPRESSION zstd"
          : "";
      return `${String(name)} ${String(type)}${compression}`;
    });
    await connection.run(`CREATE TABLE ${NEXT}.${piece} (${columns.join(", ")})`);
  }
}

/** The first file gets the number `first`, the next one the number below it. */
async function addRows(connection: DuckDBConnection, known: readonly KnownFile[], first: number): Promise<void> {
  // The lines are parsed once for all tables, unless they are too long to be held in a table.
  const isBatch = known.every(({ count }) => (count?.longest ?? 0) <= MOST_BATCH_LINE_BYTES);
  // DuckDB's buffers are twice as long as the longest line that it may read.
  const isBuffered = known.every(({ file }) => file.size <= MOST_LINE_BYTES);
  if (isBatch) await connection.run(`${readBatch({ isBuffered })}${BATCH_VIEWS}`);
  await connection.run("BEGIN");
  const insert = async (piece: string, rows: string): Promise<void> => {
    await connection.run(`INSERT INTO ${NEXT}.${piece} SELECT * REPLACE (${first} - place AS place) FROM (${rows})`);
  };
  for (const [piece, rows] of Object.entries(isBatch ? BATCH_PIECES : PIECES))
    await insert(piece, piece === "request" ? pricedRequests(rows) : rows);
  for (const piece of Object.keys(READ_PIECES)) await insert(piece, `SELECT * FROM scan.${piece}`);
  const files = known.map(({ file, head, count }, at) => ({
    path: file.path,
    place: first - at,
    size: file.size,
    mtime: file.mtimeMs,
    inode: file.inode,
    rows: count?.rows ?? 0,
    is_damaged: count?.isDamaged ?? false,
    is_long: count?.isLong ?? false,
    longest: count?.longest ?? 0,
    cwd: head.cwd,
    session_id: head.sessionId,
  }));
  await appendRows(connection, `${NEXT}.files`, FILE_COLUMNS, files);
  await connection.run("COMMIT");
}

async function removeRows(connection: DuckDBConnection, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return;
  const places = `SELECT place FROM ${NEXT}.files WHERE path IN (SELECT unnest(${literals(paths)}))`;
  await connection.run("BEGIN");
  await connection.run(
    `UPDATE ${NEXT}.waste SET rows = rows + coalesce((SELECT sum(f.rows) FROM ${NEXT}.files f WHERE place IN (${places})), 0)`,
  );
  for (const piece of PIECE_NAMES) await connection.run(`DELETE FROM ${NEXT}.${piece} WHERE place IN (${places})`);
  await connection.run(`DELETE FROM ${NEXT}.files WHERE place IN (${places})`);
  await connection.run("COMMIT");
}

/** The deleted rows as a share of all rows that were ever written. */
async function wasteOf(connection: DuckDBConnection): Promise<number> {
  const reader = await connection.runAndReadAll(
    `SELECT w.rows / greatest(1, w.rows + (SELECT coalesce(sum(rows), 0) FROM ${NEXT}.files)) FROM ${NEXT}.waste w`,
  );
  return Number(reader.getRows()[0]?.[0]);
}
