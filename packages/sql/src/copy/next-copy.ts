/** Makes the next copy. It is an attached DuckDB file, which receives the rows of the scanned files. */
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
  /** True if the copy began without the rows of an earlier copy. */
  readonly isNew: boolean;
  /** The files with rows in the earlier copy, by path. */
  readonly copied: ReadonlyMap<string, CopiedFile>;
  /** Adds all rows of these files, or none if it fails. The views of the scan must show these files. */
  add(files: Files): Promise<void>;
  remove(paths: readonly string[]): Promise<void>;
  /** Completes the file and detaches it. The views of the scan must exist. */
  finish(): Promise<void>;
}

const NEXT = "next_copy";
/** The options of the new file. Small row groups let two threads work on a small copy. */
const ATTACH = "STORAGE_VERSION 'latest', ROW_GROUP_SIZE 8192";
/** Columns that a search reads completely. They are not compressed, so reading them takes less time. */
const UNCOMPRESSED = new Set(["conversation.content"]);
/** Columns with long texts. Few queries need them, so they are compressed strongly. */
const STRONGLY_COMPRESSED = new Set([
  "tool_call.result",
  "tool_call.tool_use_result",
  "tool_call.input",
  "message.text",
  "message.thinking",
]);
/**
 * The largest share of deleted rows. DuckDB does not reuse their space, so a copy with more deleted rows is created
 * again.
 */
const MOST_WASTE = 0.3;
/**
 * The longest line of a batch. If a line is longer, the files are scanned once for each table, which needs less memory.
 */
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

/** Opens the next copy. It begins with a clone of the copy `from`, or empty if `from` is null or cannot be read. */
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

/**
 * Attaches a clone of the earlier copy. Returns undefined if no copy exists, or if it cannot be read or wastes too much
 * space.
 */
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
    // The file is damaged or is not a copy, so a new copy is created.
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

/** Creates the tables with the columns of the views that fill them. */
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

/**
 * Adds the rows of files. The first file gets the number `first`, and each later file a number that is smaller by 1.
 */
async function addRows(connection: DuckDBConnection, known: readonly KnownFile[], first: number): Promise<void> {
  // If the lines are not too long, they are parsed into a table, and only once for all tables of the copy.
  const isBatch = known.every(({ count }) => (count?.longest ?? 0) <= MOST_BATCH_LINE_BYTES);
  // A file of at most this size fits into one buffer of DuckDB, so no line numbers are needed.
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

/** Returns the share of deleted rows among all rows that were ever written. */
async function wasteOf(connection: DuckDBConnection): Promise<number> {
  const reader = await connection.runAndReadAll(
    `SELECT w.rows / greatest(1, w.rows + (SELECT coalesce(sum(rows), 0) FROM ${NEXT}.files)) FROM ${NEXT}.waste w`,
  );
  return Number(reader.getRows()[0]?.[0]);
}
