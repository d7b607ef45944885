/**
 * Keeps a copy of every transcript, because Claude Code deletes transcripts after a month.
 *
 * The archive is a folder of Skein. Each file of a data directory becomes a folder, which contains the pieces of the
 * file. The archive only grows. A deleted transcript stays in it, and a rewritten transcript starts a new generation.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import type { LibraryConfig } from "../config.ts";
import { chosenFiles } from "../list/chosen-files.ts";
import { existingRoots } from "../sources/discover.ts";
import { codeOf, makeFolder } from "../disk/durable-files.ts";
import { withLock } from "../disk/lock.ts";
import { createPause } from "../scan/pause.ts";
import { keptFiles } from "../sources/claude-code/discover/kept-files.ts";
import { archiveFile } from "./archived-file.ts";

export interface ArchiveOptions extends LibraryConfig {
  /** The folder of the archive. Default: `.skein/archive` in the home directory. */
  readonly archiveFolder?: string;
  readonly onProgress?: (done: number, total: number) => void;
}

export interface ArchiveResult {
  readonly files: number;
  /** The number of files with new bytes. */
  readonly changedFiles: number;
  readonly newBytes: number;
  readonly failed: readonly { readonly path: string; readonly reason: string }[];
}

const patienceMs = 10_000;

/**
 * Archives what is new since the last call. The caller may stop it at any time. Several processes may archive at the
 * same time.
 */
export async function archive(options: ArchiveOptions = {}): Promise<ArchiveResult> {
  const folder = options.archiveFolder ?? defaultArchiveFolder();
  const done = await withLock(folder, patienceMs, async () => await archiveAll(options, folder));
  if (done) return done.value;
  throw new ArchiveBusyError();
}

class ArchiveBusyError extends Error {
  override readonly name = "ArchiveBusyError";
  readonly code = "EBUSY";
  readonly syscall = "lock";
  constructor() {
    super("Another process is writing the archive. Try again when it has ended.");
  }
}

export function defaultArchiveFolder(): string {
  return join(homedir(), ".skein", "archive");
}

async function archiveAll(options: ArchiveOptions, folder: string): Promise<ArchiveResult> {
  const pause = createPause(options.signal);
  const failed: { path: string; reason: string }[] = [];
  const isChosen = await chooserOf(options);
  const all = existingRoots(options).flatMap((root) =>
    keptFiles(root).flatMap((path) => (isChosen(path) ? [{ root, path }] : [])),
  );
  for (const root of new Set(all.map((file) => file.root))) nameRoot(folder, root);
  let changedFiles = 0;
  let newBytes = 0;
  for (const [at, { root, path }] of all.entries()) {
    try {
      const bytes = archiveFile(path, join(rootFolder(folder, root), "files", relative(root, path)));
      newBytes += bytes;
      if (bytes > 0) changedFiles += 1;
    } catch (error) {
      const code = codeOf(error);
      // A file that no longer exists is skipped. A full disk stops the archiving, because no further file can be
      // written.
      if (code === "ENOSPC" || code === "EDQUOT") throw error;
      if (code !== "ENOENT")
        failed.push({ path, reason: code ?? (error instanceof Error ? error.message : String(error)) });
    }
    options.onProgress?.(at + 1, all.length);
    await pause();
  }
  return { files: all.length, changedFiles, newBytes, failed };
}

/**
 * Chooses the files to archive. With a project or a time range, these are only the files of the chosen sessions. The
 * path of such a file contains the session's id, except for subagents in the old layout.
 */
async function chooserOf(options: ArchiveOptions): Promise<(path: string) => boolean> {
  const { files, isPart } = await chosenFiles(options);
  if (!isPart) return () => true;
  const paths = new Set(files.map(({ path }) => path));
  const ids = new Set(files.flatMap(({ kind, sessionId }) => (kind === "session" && sessionId ? [sessionId] : [])));
  const idIn = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
  return (path) => paths.has(path) || (path.match(idIn) ?? []).some((id) => ids.has(id));
}

function rootFolder(archiveFolder: string, root: string): string {
  return join(archiveFolder, createHash("sha256").update(root).digest("hex").slice(0, 16));
}

/** Writes the path of the data directory into its folder of the archive, for `restore` and for people. */
function nameRoot(archiveFolder: string, root: string): void {
  const folder = rootFolder(archiveFolder, root);
  const path = join(folder, "root.json");
  if (existsSync(path)) return;
  makeFolder(folder);
  writeFileSync(`${path}.new`, `${JSON.stringify({ v: 1, root })}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

export interface ArchivedRoot {
  readonly root: string;
  readonly folder: string;
}

/** Lists the data directories that are in the archive. */
export function archivedRoots(archiveFolder: string): readonly ArchivedRoot[] {
  let names: readonly string[];
  try {
    names = readdirSync(archiveFolder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
  return names.flatMap((name) => {
    try {
      const { root } = JSON.parse(readFileSync(join(archiveFolder, name, "root.json"), "utf8")) as { root: unknown };
      return typeof root === "string" ? [{ root, folder: join(archiveFolder, name, "files") }] : [];
    } catch {
      return [];
    }
  });
}
