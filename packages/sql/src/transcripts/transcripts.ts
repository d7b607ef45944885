/**
 * Makes the tables agree with the files: what the copy has of a file that has not changed comes from there, everything
 * else is scanned in place.
 */
import { accessSync, constants, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import type { FileBranch } from "@skein/history";
import type { DataFile } from "@skein/history/discover";
import type { CopyPlace } from "../copy/copy-place.ts";
import { COPY, type CopiedFile, createCopyReader } from "../copy/read-copy.ts";
import { countRows } from "./count-rows.ts";
import { type FileHead, type RowCount, headOf, isSame, openFactsCache } from "./file-facts.ts";
import type { FoundFiles } from "./find-files.ts";
import { loadRows } from "../database/load-rows.ts";
import type { Memory } from "../database/memory.ts";
import { literals, plainPath } from "../database/quote.ts";
import { createShortFiles } from "./short-files.ts";
import { READ_PIECES, pieceViews } from "../tables/pieces.ts";
import { MOST_LINE_BYTES } from "../tables/scan.ts";
import { scanSql } from "../tables/schema.ts";

export interface TranscriptsDeps {
  readonly connection: DuckDBConnection;
  /** Looks what files there are now. */
  find(): FoundFiles;
  /** Where facts are kept between calls; null keeps none. */
  readonly cacheFolder: string | null;
  /** The cached copy, if one is to be used. */
  readonly copy: CopyPlace | null;
  /** Where files of one's own can be written. */
  readonly folder: string;
  readonly memory: Memory;
}

export interface Transcripts {
  /** Makes the tables agree with the files. Answers whether anything had changed. */
  refresh(): Promise<boolean>;
  /** Lines can be numbered and what is damaged is known. Before, the reader is strict and fails on a bad line. */
  isCounted(): boolean;
  /** Counts the rows of every file, where that was not done before. */
  count(): Promise<void>;
  /** Whether the views give lines their numbers. */
  number(numbered: boolean): Promise<void>;
  /** Reads the branches of the files that are scanned. */
  readBranches(): Promise<void>;
  /** Shows the lines themselves, which are in no copy. */
  showLines(): Promise<void>;
  /** Only these of the scanned files are read, until the next refresh; null reads all. */
  restrict(places: ReadonlySet<number> | null): Promise<void>;
  /** The files that are scanned, in bytes. */
  scannedBytes(): number;
  known(): readonly KnownFile[];
}

/** Whether lines that were numbered over these files still have their numbers: none but the last one has changed, and that one grew. */
export function areNumbersRight(before: readonly KnownFile[], now: readonly KnownFile[]): boolean {
  const files = new Map(now.map(({ file }) => [file.path, file]));
  return before
    .filter(({ copied }) => !copied)
    .every(({ file }, at, { length }) => {
      const current = files.get(file.path);
      if (!current) return false;
      const hasGrown = at === length - 1 && current.inode === file.inode && current.size >= file.size;
      return hasGrown || isSame(current, file);
    });
}

const FILE_COLUMNS = {
  file_id: "BIGINT",
  place: "BIGINT",
  file: "VARCHAR",
  root: "VARCHAR",
  folder: "VARCHAR",
  kind: "VARCHAR",
  layout: "VARCHAR",
  session_id: "VARCHAR",
  agent_id: "VARCHAR",
  workflow_id: "VARCHAR",
  project_path: "VARCHAR",
  size_bytes: "BIGINT",
  modified_at: "TIMESTAMP",
  first_row: "BIGINT",
  first_line: "BIGINT",
};

/** What is known of a file now; `count` only once its rows were counted. */
export interface KnownFile {
  readonly file: DataFile;
  readonly head: FileHead;
  readonly count: RowCount | undefined;
  readonly copied: CopiedFile | undefined;
}

export function createTranscripts(deps: TranscriptsDeps): Transcripts {
  const { connection, folder } = deps;
  const shortFiles = createShortFiles(folder, MOST_LINE_BYTES);
  const emptyFile = join(folder, "empty.jsonl");
  writeFileSync(emptyFile, "");
  const cache = openFactsCache(deps.cacheFolder);
  const reader = createCopyReader(connection, deps.copy);
  let shown: string | undefined;
  let known: readonly KnownFile[] = [];
  let skipped: readonly { file: string; kind: string; message: string }[] = [];
  let areBranchesRead = false;
  let areLinesShown = false;
  let wanted: ReadonlySet<number> | null = null;
  /** Whether the views of the scan number lines; undefined while there are none. */
  let form: boolean | undefined;
  let hasPrompts = false;

  const scanned = (): readonly KnownFile[] => known.filter(({ copied }) => !copied);

  return {
    async refresh() {
      const found = deps.find();
      const copy = await reader.attach();
      const stamp = [copy?.stamp, ...found.files.map(stampOf), ...found.skipped.map(({ path }) => path)].join("\n");
      if (stamp === shown) return false;
      const unreadable: { file: string; kind: string; message: string }[] = [];
      known = found.files
        // The one that is being written comes last: when it grows, no line of another gets a wrong number.
        .toSorted((a, b) => a.mtimeMs - b.mtimeMs || (a.path < b.path ? -1 : 1))
        .flatMap((file): KnownFile[] => {
          const copied = copy?.files.get(file.path);
          if (copied && isSame(copied, file)) return [{ file, head: copied, count: copied, copied }];
          const facts = cache.get(file.path);
          try {
            accessSync(file.path, constants.R_OK);
            if (facts && isSame(facts, file)) return [{ file, head: facts, count: facts, copied: undefined }];
            return [{ file, head: headOf(file.path), count: undefined, copied: undefined }];
          } catch (error) {
            unreadable.push({ file: file.path, kind: "unreadable", message: reasonOf(error) });
            return [];
          }
        });
      skipped = [
        ...unreadable,
        ...found.skipped.map(({ path, reason }) => ({ file: path, kind: "skipped", message: reason })),
      ];
      const files = scanned().length > 0;
      await show();
      if (files || !copy) await makeScan(false);
      await connection.run(pieceViews({ files, copy: copy ? COPY : undefined }));
      shown = stamp;
      return true;
    },
    isCounted: () => known.every(({ count }) => count),
    async count() {
      const fresh = known.filter(({ count }) => !count).map(({ file }) => file);
      if (fresh.length === 0) return;
      const counts = await countRows({ ...deps, shortFiles }, fresh);
      known = known.map((each) => ({ ...each, count: each.count ?? counts.get(each.file) }));
      for (const { file, head, count } of known)
        if (count && counts.has(file)) {
          const { size, mtimeMs, inode } = file;
          cache.set(file.path, { size, mtimeMs, inode, ...head, ...count });
        }
      cache.save();
      await show();
    },
    async number(numbered) {
      if (form !== undefined) await makeScan(numbered);
    },
    async readBranches() {
      if (areBranchesRead) return;
      areBranchesRead = true;
      const { branchesOf } = await import("@skein/history");
      await load(
        "branch",
        scanned().flatMap((each, place) => {
          const { file } = each;
          return file.kind === "session" ? branchRows(place, branchesOf(pathOf(each), new Date(file.mtimeMs))) : [];
        }),
      );
    },
    async showLines() {
      if (areLinesShown) return;
      areLinesShown = true;
      await showAllFiles();
    },
    async restrict(places) {
      if (places === wanted) return;
      wanted = places;
      await showFiles();
    },
    scannedBytes: () => scanned().reduce((sum, { file }) => sum + file.size, 0),
    known: () => known,
  };

  async function makeScan(numbered: boolean): Promise<void> {
    if (form === numbered) return;
    if (!hasPrompts) {
      const { promptFunction } = await import("./prompt-function.ts");
      connection.registerScalarFunction(promptFunction());
      hasPrompts = true;
    }
    await connection.run(scanSql({ numbered }));
    form = numbered;
  }

  async function load(piece: keyof typeof READ_PIECES, rows: readonly Record<string, unknown>[]): Promise<void> {
    await loadRows(connection, `scan.${piece}`, READ_PIECES[piece], rows);
  }

  async function show(): Promise<void> {
    areBranchesRead = false;
    wanted = null;
    await showFiles();
    await showAllFiles();
    await connection.run(`SET VARIABLE skein_tolerant = ${known.every(({ count }) => count)}`);
    const files = scanned();
    await loadRows(connection, "skein.skipped", { file: "VARCHAR", kind: "VARCHAR", message: "VARCHAR" }, skipped);
    // What few need is loaded by those who do: a question starts in a third of a second.
    const { damagedLines } = files.some(({ count }) => count?.isDamaged)
      ? await import("./damaged-lines.ts")
      : { damagedLines: () => [] };
    const damaged = files.flatMap((each, place) =>
      each.count?.isDamaged === true ? damagedLines(pathOf(each)).map((line) => ({ place, ...line })) : [],
    );
    const long = files.flatMap(({ file, count }, place) =>
      count?.isLong === true ? (shortFiles.of(file)?.damage ?? []).map((line) => ({ place, ...line })) : [],
    );
    await load(
      "mended",
      damaged.flatMap(({ place, line, values }) => values.map((json) => ({ place, line, json }))),
    );
    await load(
      "damage",
      [...damaged, ...long].map(({ place, line, kind, message }) => ({ place, line, kind, message })),
    );
    await load("branch", []);
  }

  /** A reader of no files at all is an error. */
  async function setPaths(variable: string, paths: readonly string[]): Promise<void> {
    const list = paths.length === 0 ? [emptyFile] : paths;
    await connection.run(`SET VARIABLE ${variable} = ${literals(list.map(plainPath))}`);
  }

  /** The file that DuckDB reads for a transcript. */
  function pathOf({ file, count }: KnownFile): string {
    return (count?.isLong === true ? shortFiles.of(file)?.path : undefined) ?? file.path;
  }

  async function showAllFiles(): Promise<void> {
    const paths = areLinesShown ? known.map(pathOf) : [];
    await setPaths("skein_all_files", paths);
  }

  async function showFiles(): Promise<void> {
    // A file that is not wanted is read as an empty one, so that the others keep their places.
    const paths = scanned().map((each, at) => (wanted?.has(at) === false ? emptyFile : pathOf(each)));
    await setPaths("skein_files", paths);
    await loadRows(connection, "skein.files", FILE_COLUMNS, fileRows(known, wanted));
  }
}

/** The rows of `skein.files`. A subagent's project is that of its session. */
function fileRows(known: readonly KnownFile[], wanted: ReadonlySet<number> | null): readonly Record<string, unknown>[] {
  const projects = new Map<string, string>();
  for (const { file, head } of known)
    if (file.kind === "session" && head.cwd !== null && file.sessionId !== undefined)
      projects.set(`${file.root}\0${file.encodedPath}\0${file.sessionId}`, head.cwd);
  let place = 0;
  let firstRow = 0;
  let firstLine = 0;
  return known.map(({ file, head, count, copied }, at) => {
    const sessionId = file.sessionId ?? head.sessionId;
    const row = {
      file_id: at,
      place: copied?.place ?? place,
      file: file.path,
      root: file.root,
      folder: file.encodedPath,
      kind: file.kind,
      layout: file.layout,
      session_id: sessionId,
      agent_id: file.agentId ?? null,
      workflow_id: file.workflowId ?? null,
      project_path: projects.get(`${file.root}\0${file.encodedPath}\0${sessionId}`) ?? head.cwd ?? file.encodedPath,
      size_bytes: file.size,
      modified_at: new Date(file.mtimeMs),
      first_row: firstRow,
      first_line: firstLine,
    };
    firstLine += count?.rows ?? 0;
    if (!copied) {
      if (wanted?.has(place) !== false) firstRow += count?.rows ?? 0;
      place += 1;
    }
    return row;
  });
}

function branchRows(place: number, branches: readonly FileBranch[]): readonly Record<string, unknown>[] {
  return branches.map(({ atUuid, childUuids, prompts, firstAt, lastAt }) => ({
    place,
    at_uuid: atUuid,
    child_uuids: childUuids,
    prompts,
    first_at: firstAt,
    last_at: lastAt,
  }));
}

function reasonOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "cannot be read";
}

const stampOf = ({ path, size, mtimeMs, inode }: DataFile): string => `${path}\0${size}\0${mtimeMs}\0${inode}`;
