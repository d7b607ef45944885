/**
 * Makes the cached copy of the transcripts, a DuckDB file, or brings it up to date.
 *
 * A copy is never changed in place, because readers have it open. DuckDB allows either one process that writes or
 * several that read. So the next copy is a new file, which begins with a clone of the last copy and reads only new and
 * changed files. When it is complete, it is renamed over the last copy. One process builds at a time. Decision 079
 * in docs/decisions has the reasons.
 */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { type DataFile, type LibraryConfig, discover } from "@skein/history/discover";
import { type MemoryLimit, createMemoryLimit, isOutOfMemory } from "../database/memory-limit.ts";
import { openDatabase } from "../database/open-database.ts";
import { START } from "../tables/schema.ts";
import { isSame } from "../transcripts/file-details.ts";
import type { Files } from "../transcripts/files.ts";
import { createTranscripts } from "../transcripts/transcripts.ts";
import { withCopyLock } from "./copy-lock.ts";
import { type CopyPlace, copyPlace } from "./copy-place.ts";
import { type NextCopy, openNextCopy } from "./next-copy.ts";

export interface BuildCopyOptions {
  /** Claude Code's data directories. Default: the usual directories. */
  readonly roots?: readonly string[];
  readonly cacheFolder: string;
  /** True to begin with an empty copy, without the rows of the last copy. */
  readonly afresh?: boolean;
}

type BuildCopyResult =
  | { readonly outcome: "built"; readonly file: string; readonly added: number; readonly removed: number }
  | { readonly outcome: "current"; readonly file: string }
  /** Returned if another build is running. */
  | { readonly outcome: "busy" };

/**
 * DuckDB's memory limit during a build. With less memory, DuckDB writes temporary files. The whole process uses about
 * 750 MB.
 */
const MEGABYTES = 600;
const THREADS = 2;
/**
 * The bytes of transcripts in one batch. With half of this size, a build commits twice as often and takes a fifth
 * longer.
 */
const BATCH_BYTES = 48 * 2 ** 20;
/** The age up to which a file may change again and keep its modification time. */
const YOUNG_MS = 1000;

export async function buildCopy(options: BuildCopyOptions): Promise<BuildCopyResult> {
  const library: LibraryConfig = {
    ...(options.roots === undefined ? {} : { dataPath: options.roots }),
    cacheFolder: null,
  };
  const place = copyPlace(join(options.cacheFolder, "sql"), discover(library).roots);
  mkdirSync(place.folder, { recursive: true, mode: 0o700 });
  const result = await withCopyLock(place.lock, async () => {
    const folder = mkdtempSync(join(tmpdir(), "skein-copy-"));
    const nextFile = `${place.file}.${process.pid}.next`;
    try {
      removeLeftovers(place);
      return await build({ library, place, folder, nextFile, from: options.afresh === true ? null : place.file });
    } finally {
      for (const path of [nextFile, `${nextFile}.wal`, folder]) rmSync(path, { recursive: true, force: true });
    }
  });
  return result ?? { outcome: "busy" };
}

interface Build {
  readonly library: LibraryConfig;
  readonly place: CopyPlace;
  readonly folder: string;
  readonly nextFile: string;
  /** The last copy, or null to begin with an empty copy. */
  readonly from: string | null;
}

async function build({ library, place, folder, nextFile, from }: Build): Promise<BuildCopyResult> {
  const { connection, close } = await openDatabase({
    folder,
    memoryLimit: `${MEGABYTES}MB`,
    threads: THREADS,
    keepsFreed: true,
  });
  try {
    await connection.run(START);
    const now = Date.now();
    const files = discover(library).files.filter(({ mtimeMs }) => mtimeMs < now - YOUNG_MS);
    const next = await openNextCopy(connection, nextFile, from);
    const { gone, fresh } = differences(next, files);
    if (!next.isNew && gone.length === 0 && fresh.length === 0) return { outcome: "current", file: place.file };
    await next.remove(gone);
    const leftOut = await addFiles({ connection, folder, next, files: fresh });
    const changed = changedSince(fresh, discover(library).files);
    await next.remove(changed);
    await next.finish();
    renameSync(nextFile, place.file);
    const added = fresh.length - changed.length - leftOut;
    return { outcome: "built", file: place.file, added, removed: gone.length };
  } finally {
    close();
  }
}

/**
 * Finds paths whose rows must be removed from the next copy, and files whose rows must be added. A changed file is in
 * both lists.
 */
function differences(
  { copied }: NextCopy,
  files: readonly DataFile[],
): { readonly gone: readonly string[]; readonly fresh: readonly DataFile[] } {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const gone = [...copied].filter(([path, each]) => {
    const file = byPath.get(path);
    return !file || !isSame(each, file);
  });
  return {
    gone: gone.map(([path]) => path),
    fresh: files.filter((file) => !isSame(copied.get(file.path), file)),
  };
}

/**
 * Returns the paths of files that changed while they were read. The next copy may have both old and new rows of these
 * files.
 */
function changedSince(files: readonly DataFile[], now: readonly DataFile[]): readonly string[] {
  const later = new Map(now.map((file) => [file.path, file]));
  return files.filter((file) => !isSame(later.get(file.path), file)).map(({ path }) => path);
}

interface Addition {
  readonly connection: DuckDBConnection;
  readonly folder: string;
  readonly next: NextCopy;
  readonly files: readonly DataFile[];
}

/**
 * Adds files in batches. Returns how many files it left out because they need too much memory. Queries read these files
 * in place.
 */
async function addFiles({ connection, folder, next, files }: Addition): Promise<number> {
  const memory = createMemoryLimit(connection, MEGABYTES);
  let batch: readonly DataFile[] = [];
  const find = () => ({ files: batch, skipped: [] });
  const transcripts = createTranscripts({ connection, find, cacheFolder: null, copy: null, folder, memory });
  let leftOut = 0;
  // This call reads no files. It makes the views of the scan, which give the next copy its columns.
  await transcripts.refresh();
  for (batch of batches(files)) {
    const shown = await transcripts.show(await transcripts.refresh(), {
      rows: "numbered",
      branches: true,
      lines: false,
      condition: null,
    });
    if (!(await addBatch({ connection, memory, next, files: shown }))) leftOut += batch.length;
  }
  return leftOut;
}

interface Batch {
  readonly connection: DuckDBConnection;
  readonly memory: MemoryLimit;
  readonly next: NextCopy;
  readonly files: Files;
}

/**
 * Adds the rows of some files. If the files have very long lines, it uses more memory. Returns false if the memory is
 * not enough.
 */
async function addBatch({ connection, memory, next, files }: Batch): Promise<boolean> {
  await memory.reset();
  for (;;) {
    try {
      await next.add(files);
      return true;
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      // ROLLBACK fails if the error came before the transaction began.
      await connection.run("ROLLBACK").catch(() => {});
      if (!(await memory.raise(error))) return false;
    }
  }
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

/** Removes the files of killed builds. Call it only in the process that holds the lock. */
function removeLeftovers({ folder, file }: CopyPlace): void {
  for (const name of readdirSync(folder))
    if (name.startsWith(`${basename(file)}.`) && name.includes(".next")) rmSync(join(folder, name), { force: true });
}
