/**
 * Makes the cached copy, or brings it up to date.
 *
 * A copy is never changed where it lies: readers have it open, and DuckDB lets one process write or several read. So the
 * next one is made beside it from a clone of the last (only files that are new or have changed are read) and takes its
 * name when it is whole. A lock that dies with its process lets one builder work at a time.
 */
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { type DataFile, type LibraryConfig, discover } from "@skein/history/discover";
import { isSame } from "../transcripts/file-facts.ts";
import type { FoundFiles } from "../transcripts/find-files.ts";
import { appendRows } from "../database/load-rows.ts";
import { type Memory, createMemory, isFull } from "../database/memory.ts";
import { literal, literals } from "../database/quote.ts";
import { PIECES, PIECE_NAMES, READ_PIECES } from "../tables/pieces.ts";
import { pricedRequests } from "../tables/requests.ts";
import { START } from "../tables/schema.ts";
import { type KnownFile, createTranscripts } from "../transcripts/transcripts.ts";
import { type CopyPlace, copyPlace } from "./copy-place.ts";
import { type CopiedFile, readFiles } from "./read-copy.ts";

export interface BuildCopyOptions {
  /** Claude Code's data directories; found by itself if not given. */
  readonly roots?: readonly string[];
  /** Skein's cache folder. */
  readonly cacheFolder: string;
  /** Starts anew instead of from the copy that is there. */
  readonly afresh?: boolean;
}

export type BuildCopyResult =
  | { readonly outcome: "built"; readonly file: string; readonly added: number; readonly removed: number }
  | { readonly outcome: "current"; readonly file: string }
  /** Somebody else is at it. */
  | { readonly outcome: "busy" };

/** What DuckDB may have while it builds: its reader takes 64 of it. The process has four times as much, because packing is not counted. */
const MEGABYTES = 80;
/** Bytes of transcripts that are read at once. */
const BATCH_BYTES = 6 * 2 ** 20;
const MOST_BATCH_LINE_BYTES = 64 * 1024;
/** A file that changed so shortly ago may change again without its time telling it. */
const YOUNG_MS = 1000;
/** A copy of which more than this part was thrown away is made anew: DuckDB does not give back the room. */
const MOST_WASTE = 0.3;

const DRAFT = "draft";
/** Rows in small groups give both threads something to do. */
const ATTACH = "STORAGE_VERSION 'latest', ROW_GROUP_SIZE 8192";
/** A search reads all of it: kept as it is, it is read at the speed of memory. */
const PLAIN = new Set(["conversation.content"]);
/** Long texts that are seldom read. */
const PACKED = new Set([
  "tool_call.result",
  "tool_call.tool_use_result",
  "tool_call.input",
  "message.text",
  "message.thinking",
]);

export async function buildCopy(options: BuildCopyOptions): Promise<BuildCopyResult> {
  const library: LibraryConfig = {
    ...(options.roots === undefined ? {} : { dataPath: options.roots }),
    cacheFolder: null,
  };
  const place = copyPlace(join(options.cacheFolder, "sql"), discover(library).roots);
  mkdirSync(place.folder, { recursive: true, mode: 0o700 });
  if (building.has(place.lock)) return { outcome: "busy" };
  building.add(place.lock);
  const lock = await locked(place.lock).catch((error: unknown) => {
    building.delete(place.lock);
    throw error;
  });
  if (!lock) {
    building.delete(place.lock);
    return { outcome: "busy" };
  }
  const work = mkdtempSync(join(tmpdir(), "skein-copy-"));
  const draft = `${place.file}.${process.pid}.draft`;
  try {
    removeDrafts(place);
    return await build({ library, place, work, draft, options });
  } finally {
    for (const path of [draft, `${draft}.wal`, work]) rmSync(path, { recursive: true, force: true });
    lock.closeSync();
    building.delete(place.lock);
  }
}

/** The system's lock tells processes apart, not builders in one of them. */
const building = new Set<string>();

interface Work {
  readonly library: LibraryConfig;
  readonly place: CopyPlace;
  readonly work: string;
  readonly draft: string;
  readonly options: BuildCopyOptions;
}

async function build({ library, place, work, draft, options }: Work): Promise<BuildCopyResult> {
  const instance = await DuckDBInstance.create(":memory:", {
    memory_limit: `${MEGABYTES}MB`,
    temp_directory: join(work, "spill"),
    // What was let go is given back to the system soon.
    allocator_flush_threshold: "8MB",
    allocator_bulk_deallocation_flush_threshold: "16MB",
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    // Each thread packs by itself, for which it takes memory. Two are not faster: rows are numbered one after the other.
    threads: "1",
  });
  try {
    const connection = await instance.connect();
    const memory = createMemory(connection, MEGABYTES);
    await connection.run(START);
    const now = Date.now();
    const files = discover(library).files.filter(({ mtimeMs }) => mtimeMs < now - YOUNG_MS);
    let known = options.afresh === true ? undefined : await cloned(connection, place.file, draft);
    if (known && (await wasteOf(connection)) > MOST_WASTE) {
      await connection.run(`DETACH ${DRAFT}`);
      known = undefined;
    }
    if (!known) await attachNew(connection, draft);
    const copied: ReadonlyMap<string, CopiedFile> = known ?? new Map();
    const paths = new Map(files.map((file) => [file.path, file]));
    const gone = [...copied].filter(([path, each]) => {
      const file = paths.get(path);
      return !file || !isSame(each, file);
    });
    const fresh = files.filter((file) => !isSame(copied.get(file.path), file));
    if (known && gone.length === 0 && fresh.length === 0) return { outcome: "current", file: place.file };
    await remove(
      connection,
      gone.map(([path]) => path),
    );
    let batch: readonly DataFile[] = [];
    const find = (): FoundFiles => ({ files: batch, skipped: [] });
    const transcripts = createTranscripts({
      connection,
      find,
      cacheFolder: null,
      copy: null,
      folder: work,
      memory,
    });
    let last = [...copied.values()].reduce((least, each) => Math.min(least, each.place), 0);
    let left = 0;
    await transcripts.refresh();
    if (!known) await createTables(connection);
    for (batch of batches(fresh)) {
      await transcripts.refresh();
      await transcripts.count();
      await transcripts.number(true);
      await transcripts.readBranches();
      if (await hadRoom(connection, memory, () => add(connection, last, transcripts.known()))) last -= batch.length;
      else left += batch.length;
    }
    const after = new Map(discover(library).files.map((file) => [file.path, file]));
    const moved = fresh.filter((file) => {
      const later = after.get(file.path);
      return !later || !isSame(later, file);
    });
    await remove(
      connection,
      moved.map(({ path }) => path),
    );
    await connection.run(
      `CREATE OR REPLACE TABLE ${DRAFT}.repeated AS SELECT id FROM ${DRAFT}.request GROUP BY id HAVING count(*) > 1`,
    );
    await connection.run(`CHECKPOINT ${DRAFT}`);
    await connection.run(`DETACH ${DRAFT}`);
    renameSync(draft, place.file);
    return { outcome: "built", file: place.file, added: fresh.length - moved.length - left, removed: gone.length };
  } finally {
    instance.closeSync();
  }
}

/** A clone of the copy that is there, attached for writing, with the files in it. */
async function cloned(
  connection: DuckDBConnection,
  file: string,
  draft: string,
): Promise<ReadonlyMap<string, CopiedFile> | undefined> {
  if (!existsSync(file)) return undefined;
  try {
    copyFileSync(file, draft, constants.COPYFILE_FICLONE);
    chmodSync(draft, 0o600);
    await connection.run(`ATTACH ${literal(draft)} AS ${DRAFT}`);
  } catch {
    return undefined;
  }
  try {
    return await readFiles(connection, DRAFT);
  } catch {
    await connection.run(`DETACH ${DRAFT}`);
    return undefined;
  }
}

async function attachNew(connection: DuckDBConnection, draft: string): Promise<void> {
  for (const path of [draft, `${draft}.wal`]) rmSync(path, { force: true });
  await connection.run(`ATTACH ${literal(draft)} AS ${DRAFT} (${ATTACH})`);
  chmodSync(draft, 0o600);
  await connection.run(`CREATE TABLE ${DRAFT}.files (path VARCHAR, place BIGINT, size BIGINT, mtime DOUBLE, inode BIGINT,
    rows BIGINT, is_damaged BOOLEAN, is_long BOOLEAN, longest BIGINT, cwd VARCHAR, session_id VARCHAR);
    CREATE TABLE ${DRAFT}.waste (rows BIGINT); INSERT INTO ${DRAFT}.waste VALUES (0)`);
}

/** The tables have the columns of the views that they are filled from. */
async function createTables(connection: DuckDBConnection): Promise<void> {
  for (const piece of PIECE_NAMES) {
    const reader = await connection.runAndReadAll(`DESCRIBE scan.${piece}`);
    const columns = reader.getRows().map(([name, type]) => {
      const column = `${piece}.${String(name)}`;
      const packing = PLAIN.has(column)
        ? " USING COMPRESSION uncompressed"
        : PACKED.has(column)
          ? " USING COMPRESSION zstd"
          : "";
      return `${String(name)} ${String(type)}${packing}`;
    });
    await connection.run(`CREATE TABLE ${DRAFT}.${piece} (${columns.join(", ")})`);
  }
}

/** Files with very long lines get more room. Those for which that is not enough are left out, and read in place. */
async function hadRoom(connection: DuckDBConnection, memory: Memory, work: () => Promise<void>): Promise<boolean> {
  await memory.reset();
  for (;;) {
    try {
      await work();
      return true;
    } catch (error) {
      if (!isFull(error)) throw error;
      // There is none if it failed before it began.
      await connection.run("ROLLBACK").catch(() => {});
      if (!(await memory.gotRoom(error))) return false;
    }
  }
}

/** Adds what is shown now. The first file gets the place below the last one. */
async function add(connection: DuckDBConnection, last: number, known: readonly KnownFile[]): Promise<void> {
  // Read once, for all pieces. Not where lines are long: a table gives 2048 of them at once, a file as many as its buffer holds.
  const isBatch = known.every(({ count }) => (count?.longest ?? 0) <= MOST_BATCH_LINE_BYTES);
  await connection.run(`CREATE OR REPLACE TEMP TABLE batch AS SELECT * FROM scan.rows ${isBatch ? "" : "LIMIT 0"}`);
  await connection.run("BEGIN");
  const inserted = async (piece: string, rows: string): Promise<void> => {
    await connection.run(
      `INSERT INTO ${DRAFT}.${piece} SELECT * REPLACE (${last - 1} - place AS place) FROM (${rows})`,
    );
  };
  for (const [piece, query] of Object.entries(PIECES)) {
    const rows = isBatch ? query.replaceAll("scan.rows", "batch") : query;
    await inserted(piece, piece === "request" ? pricedRequests(rows) : rows);
  }
  for (const piece of Object.keys(READ_PIECES)) await inserted(piece, `SELECT * FROM scan.${piece}`);
  const columns = {
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
  const files = known.map(({ file, head, count }, at) => ({
    path: file.path,
    place: last - 1 - at,
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
  await appendRows(connection, `${DRAFT}.files`, columns, files);
  await connection.run("COMMIT");
}

async function remove(connection: DuckDBConnection, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return;
  const places = `SELECT place FROM ${DRAFT}.files WHERE path IN (SELECT unnest(${literals(paths)}))`;
  await connection.run("BEGIN");
  await connection.run(
    `UPDATE ${DRAFT}.waste SET rows = rows + coalesce((SELECT sum(f.rows) FROM ${DRAFT}.files f WHERE place IN (${places})), 0)`,
  );
  for (const piece of PIECE_NAMES) await connection.run(`DELETE FROM ${DRAFT}.${piece} WHERE place IN (${places})`);
  await connection.run(`DELETE FROM ${DRAFT}.files WHERE place IN (${places})`);
  await connection.run("COMMIT");
}

/** The part of all rows that were ever written that is of no use any more. */
async function wasteOf(connection: DuckDBConnection): Promise<number> {
  const reader = await connection.runAndReadAll(
    `SELECT w.rows / greatest(1, w.rows + (SELECT coalesce(sum(rows), 0) FROM ${DRAFT}.files)) FROM ${DRAFT}.waste w`,
  );
  return Number(reader.getRows()[0]?.[0]);
}

function* batches(files: readonly DataFile[]): Generator<readonly DataFile[]> {
  let batch: DataFile[] = [];
  let bytes = 0;
  for (const file of files) {
    if (bytes > 0 && bytes + file.size > BATCH_BYTES) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(file);
    bytes += file.size;
  }
  if (batch.length > 0) yield batch;
}

/** A database that only one process can have open: the system lets it go when its process ends, however it ends. */
async function locked(file: string): Promise<DuckDBInstance | undefined> {
  try {
    const instance = await DuckDBInstance.create(file);
    chmodSync(file, 0o600);
    return instance;
  } catch (error) {
    if (error instanceof Error && error.message.includes("Could not set lock")) return undefined;
    throw error;
  }
}

/** What builders left that did not get to the end. Only for who holds the lock. */
function removeDrafts({ folder, file }: CopyPlace): void {
  for (const name of readdirSync(folder))
    if (name.startsWith(`${basename(file)}.`) && name.includes(".draft")) rmSync(join(folder, name), { force: true });
}
