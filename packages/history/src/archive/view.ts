/**
 * Makes what only the archive has left readable for the whole library: as a data directory in Skein's cache folder,
 * with the files that are no longer in the real one. It is made from the archive and can be thrown away.
 */
import { createHash, randomBytes } from "node:crypto";
import { closeSync, existsSync, lstatSync, openSync, renameSync, rmSync, utimesSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheFolder, type LibraryConfig } from "../config.ts";
import { existingRoots } from "../sources/claude-code/discover/discover.ts";
import { isDataNotFoundError } from "../errors.ts";
import { filesBelow, makeFolder, removeEmptyFolders, removeFile } from "../disk/durable.ts";
import { archivedRoots, defaultArchiveFolder, type ArchiveOptions } from "./archive.ts";
import { goneFiles } from "./archived-files.ts";
import { lastHead, piecesOf, readArchived } from "./archived-file.ts";

/**
 * The configuration, extended by what only the archive has left of the same data directories. Without an archive it
 * stays as it is. A session that is in both is read from where Claude Code has it.
 */
export async function withArchive(options: ArchiveOptions = {}): Promise<LibraryConfig> {
  const { archiveFolder = defaultArchiveFolder(), onProgress: _progress, ...config } = options;
  const archived = archivedRoots(archiveFolder);
  if (archived.length === 0) return config;
  const live = liveRoots(
    config,
    archived.map(({ root }) => root),
  );
  const views = archived
    .filter(({ root }) => live.wanted.includes(root))
    .flatMap(({ root, folder }) => makeView(root, folder, viewFolder(config, folder)) ?? []);
  if (views.length === 0) return config;
  return await Promise.resolve({ ...config, dataPath: [...live.present, ...views] });
}

/** Data directories that are wanted, and those of them that are there; one that is gone may still be in the archive. */
function liveRoots(
  config: LibraryConfig,
  archived: readonly string[],
): { wanted: readonly string[]; present: readonly string[] } {
  try {
    const present = existingRoots(config);
    return { wanted: present, present };
  } catch (error) {
    if (!isDataNotFoundError(error) || config.dataPath === undefined) throw error;
    const given = typeof config.dataPath === "string" ? [config.dataPath] : config.dataPath;
    if (!given.every((path) => existsSync(path) || archived.includes(path))) throw error;
    return { wanted: given, present: given.filter((path) => existsSync(path)) };
  }
}

function viewFolder(config: LibraryConfig, archiveFolder: string): string {
  // Without a cache folder the view lies beside the archive, which is Skein's own folder too.
  const cache = cacheFolder(config);
  const name = createHash("sha256").update(archiveFolder).digest("hex").slice(0, 16);
  return cache === null ? join(dirname(archiveFolder), "view") : join(cache, "archive", name);
}

/** Brings the view up to date; undefined if nothing is missing in the data directory. */
function makeView(root: string, folder: string, view: string): string | undefined {
  const gone = goneFiles(folder, root).filter((path) => path !== "history.jsonl");
  const wanted = new Set(gone.map((path) => join(view, path)));
  for (const path of filesBelow(view).files) {
    if (wanted.has(path)) continue;
    removeFile(path);
    removeEmptyFolders(dirname(path), view);
  }
  for (const path of gone) unpack(join(folder, path), join(view, path));
  return gone.length === 0 ? undefined : view;
}

/** Does nothing if the file is as the archive has it. */
function unpack(folder: string, target: string): void {
  const head = lastHead(folder);
  if (!head) return;
  const size = piecesOf(folder).at(-1)?.to ?? 0;
  const now = lstatSync(target, { throwIfNoEntry: false });
  if (now?.size === size && Math.abs(now.mtimeMs - head.mtimeMs) < 2) return;
  makeFolder(dirname(target));
  const staged = join(dirname(target), `.skein-${randomBytes(6).toString("hex")}`);
  try {
    const fd = openSync(staged, "wx", 0o600);
    try {
      for (const bytes of readArchived(folder))
        for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at);
    } finally {
      closeSync(fd);
    }
    utimesSync(staged, head.mtimeMs / 1000, head.mtimeMs / 1000);
    renameSync(staged, target);
  } catch (error) {
    rmSync(staged, { force: true });
    throw error;
  }
}
