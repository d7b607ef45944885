/**
 * What must be known of each transcript before it is scanned: its rows, its damage, its project. Kept in Skein's cache
 * folder and looked at again only when a file has changed.
 */
import { closeSync, mkdirSync, openSync, readFileSync, readSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { type DataFile, type LibraryConfig, discover, isDataNotFoundError, readLines } from "@skein/history";
import { loadRows } from "./load-rows.ts";
import { literals, plainPath } from "./quote.ts";
import { COUNT_ROWS } from "./tables/scan.ts";

interface FileFacts {
  readonly size: number;
  readonly mtimeMs: number;
  readonly inode: number;
  /** Rows as DuckDB sees them: lines that are not blank. */
  readonly rows: number;
  readonly isDamaged: boolean;
  /** Bytes of its longest line, or of all of it if DuckDB cannot read every line. */
  readonly longest: number;
  readonly cwd: string | null;
  readonly sessionId: string | null;
}

export interface TranscriptsDeps {
  readonly connection: DuckDBConnection;
  readonly library: LibraryConfig;
  /** Where the facts are kept between calls; null keeps none. */
  readonly cacheFolder: string | null;
  /** An empty file: a reader of no files at all is an error. */
  readonly emptyFile: string;
}

export interface Transcripts {
  /** Makes the tables agree with the files. Answers whether anything had changed. */
  refresh(): Promise<boolean>;
}

/** Smaller buffers only make the reader slower. */
const LEAST_LINE_BYTES = 4 * 2 ** 20;
const MOST_LINE_BYTES = 256 * 2 ** 20;

const FILE_COLUMNS = {
  file_id: "BIGINT",
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
};

export function createTranscripts({ connection, library, cacheFolder, emptyFile }: TranscriptsDeps): Transcripts {
  const cache = openCache(cacheFolder);
  let shown: string | undefined;

  return {
    async refresh() {
      const { files, skipped } = found(library);
      const stamp = files.map(stampOf).join("\n");
      if (stamp === shown) return false;
      const unreadable = await learn(files);
      const readable = files.filter((file) => !unreadable.has(file.path));
      await show(readable);
      await mend(readable, [
        ...[...unreadable].map(([file, message]) => ({ file, line: 0, kind: "unreadable", message })),
        ...skipped.map(({ path, reason }) => ({ file: path, line: 0, kind: "skipped", message: reason })),
      ]);
      shown = stamp;
      return true;
    },
  };

  /** Counts the rows of the files that are new or have changed. Answers those that cannot be read, with the reason. */
  async function learn(files: readonly DataFile[]): Promise<ReadonlyMap<string, string>> {
    const unreadable = new Map<string, string>();
    const heads = new Map<DataFile, Pick<FileFacts, "cwd" | "sessionId">>();
    for (const file of files) {
      if (isSame(cache.get(file.path), file)) continue;
      try {
        heads.set(file, headOf(file.path));
      } catch (error) {
        unreadable.set(file.path, error instanceof Error && "code" in error ? String(error.code) : "cannot be read");
      }
    }
    if (heads.size === 0) return unreadable;
    const fresh = [...heads.keys()];
    await connection.run(`SET VARIABLE skein_new_files = ${literals(fresh.map(({ path }) => plainPath(path)))}`);
    await expectLines(fresh.map(({ size }) => size));
    const counted = new Map<number, readonly [total: number, longest: number, bad: number]>();
    const reader = await connection.runAndReadAll(COUNT_ROWS);
    for (const [id, ...counts] of reader.getRows()) {
      const [total = 0, longest = 0, bad = 0] = counts.map(Number);
      counted.set(Number(id), [total, longest, bad]);
    }
    fresh.forEach((file, at) => {
      const [rows, longest, bad] = counted.get(at) ?? [0, 0, 0];
      const { size, mtimeMs, inode } = file;
      const isDamaged = bad > 0;
      const facts = { size, mtimeMs, inode, rows, isDamaged, longest: isDamaged ? size : longest };
      cache.set(file.path, { ...facts, ...(heads.get(file) ?? headless) });
    });
    cache.save();
    return unreadable;
  }

  async function expectLines(sizes: readonly number[]): Promise<void> {
    const longest = sizes.reduce((most, size) => Math.max(most, size), LEAST_LINE_BYTES);
    // The byte order mark, the line feed and what else the reader looks at beyond the line.
    const bytes = Math.min(MOST_LINE_BYTES, longest + 1024);
    await connection.run(`SET VARIABLE skein_line_bytes = ${bytes}`);
  }

  async function show(files: readonly DataFile[]): Promise<void> {
    let firstRow = 0;
    const projects = new Map<string, string>();
    for (const { path, kind, root, folder, sessionId } of files.map(withFolder)) {
      const cwd = cache.get(path)?.cwd;
      if (kind === "session" && cwd && sessionId) projects.set(`${root}\0${folder}\0${sessionId}`, cwd);
    }
    const rows = files.map(withFolder).map((file, at) => {
      const facts = cache.get(file.path);
      const sessionId = file.sessionId ?? facts?.sessionId ?? null;
      const row = {
        file_id: at,
        file: file.path,
        root: file.root,
        folder: file.folder,
        kind: file.kind,
        layout: file.layout,
        session_id: sessionId,
        agent_id: file.agentId ?? null,
        workflow_id: file.workflowId ?? null,
        project_path: projects.get(`${file.root}\0${file.folder}\0${sessionId}`) ?? facts?.cwd ?? file.folder,
        size_bytes: file.size,
        modified_at: new Date(file.mtimeMs),
        first_row: firstRow,
      };
      firstRow += facts?.rows ?? 0;
      return row;
    });
    const paths = (files.length === 0 ? [emptyFile] : files.map(({ path }) => path)).map(plainPath);
    await connection.run(`SET VARIABLE skein_files = ${literals(paths)}`);
    await expectLines(files.map(({ path }) => cache.get(path)?.longest ?? 0));
    await loadRows(connection, "skein.files", FILE_COLUMNS, rows);
  }

  /** Reads damaged files a second time, with a reader that saves what can be saved. */
  async function mend(files: readonly DataFile[], known: readonly object[]): Promise<void> {
    const mended: { file_id: number; line: number; json: string }[] = [];
    const damage: object[] = [...known];
    files.forEach(({ path }, at) => {
      if (!cache.get(path)?.isDamaged) return;
      for (const { line, kind, message, values } of damagedLines(path)) {
        damage.push({ file: path, line, kind, message });
        for (const value of values) mended.push({ file_id: at, line, json: value as unknown as string });
      }
    });
    await loadRows(connection, "skein.mended", { file_id: "BIGINT", line: "BIGINT", json: "JSON" }, mended);
    const columns = { file: "VARCHAR", line: "BIGINT", kind: "VARCHAR", message: "VARCHAR" };
    await loadRows(connection, "claude.damage", columns, damage as Record<string, unknown>[]);
  }
}

interface DamagedLine {
  readonly line: number;
  readonly kind: string;
  readonly message: string;
  /** What is still whole in it. */
  readonly values: readonly object[];
}

/** The lines that DuckDB cannot read, numbered as DuckDB numbers them: blank ones do not count. */
function damagedLines(path: string): readonly DamagedLine[] {
  const found: DamagedLine[] = [];
  let number = 0;
  let last = 0;
  let damage: { kind: string; message: string } | undefined;
  let values: object[] = [];
  const finish = (): void => {
    if (damage) found.push({ line: number, ...damage, values });
    damage = undefined;
    values = [];
  };
  const at = (line: number): void => {
    if (line === last) return;
    finish();
    last = line;
    number += 1;
  };
  readLines(path, {
    line: ({ line, value }) => {
      at(line);
      if (!damage && hasHalfPair(value)) damage = { kind: "half-surrogate", message: "half of a surrogate pair" };
      if (damage) values.push(value);
    },
    damage: ({ line, kind, message }) => {
      at(line);
      damage = { kind, message };
    },
  });
  finish();
  return found;
}

function hasHalfPair(value: unknown): boolean {
  if (typeof value === "string") return !value.isWellFormed();
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, inner]) => !key.isWellFormed() || hasHalfPair(inner));
}

function found(library: LibraryConfig): Pick<ReturnType<typeof discover>, "files" | "skipped"> {
  try {
    return discover(library);
  } catch (error) {
    // Somebody without Claude Code still has the platform's tables. A directory that was named must be there.
    if (isDataNotFoundError(error) && library.dataPath === undefined) return { files: [], skipped: [] };
    throw error;
  }
}

const withFolder = (file: DataFile): DataFile & { readonly folder: string } => ({ ...file, folder: file.encodedPath });
const stampOf = ({ path, size, mtimeMs, inode }: DataFile): string => `${path}\0${size}\0${mtimeMs}\0${inode}`;

function isSame(facts: FileFacts | undefined, { size, mtimeMs, inode }: DataFile): boolean {
  return facts?.size === size && facts.mtimeMs === mtimeMs && facts.inode === inode;
}

const HEAD_BYTES = 65_536;
const headless = { cwd: null, sessionId: null };

/** The working directory and the session that the first lines name; the folder's name cannot be decoded. */
function headOf(path: string): Pick<FileFacts, "cwd" | "sessionId"> {
  const fd = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(HEAD_BYTES);
    const text = bytes.toString("utf8", 0, readSync(fd, bytes, 0, HEAD_BYTES, 0));
    return { cwd: firstText(text, "cwd"), sessionId: firstText(text, "sessionId") };
  } finally {
    closeSync(fd);
  }
}

function firstText(text: string, key: string): string | null {
  const value = new RegExp(`"${key}":("(?:[^"\\\\]|\\\\.)+")`).exec(text)?.[1];
  try {
    return value === undefined ? null : (JSON.parse(value) as string);
  } catch {
    return null;
  }
}

/** Raised when what is kept of a file changes. */
const CACHE_VERSION = 1;

function openCache(folder: string | null) {
  const path = folder === null ? null : join(folder, `files-${CACHE_VERSION}.json`);
  const known = new Map<string, FileFacts>(path === null ? [] : readCache(path));
  return {
    get: (file: string) => known.get(file),
    set: (file: string, facts: FileFacts) => void known.set(file, facts),
    save(): void {
      if (path === null || folder === null) return;
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        const draft = `${path}.${process.pid}`;
        writeFileSync(draft, JSON.stringify([...known]), { mode: 0o600 });
        renameSync(draft, path);
      } catch {
        // A cache that cannot be written only costs time.
      }
    },
  };
}

function readCache(path: string): [string, FileFacts][] {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as [string, FileFacts][];
  } catch {
    return [];
  }
}
