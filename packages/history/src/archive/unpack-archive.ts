/**
 * Unpacks files that exist only in the archive, so that every function of the library can read them. They are put into a
 * separate data directory in Skein's cache folder. This directory can be deleted at any time.
 */
import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { cacheFolder, type LibraryConfig } from "../config.ts";
import { existingRoots } from "../sources/discover.ts";
import { isDataNotFoundError } from "../errors.ts";
import { filesBelow, makeFolder, removeEmptyFolders, removeFile } from "../disk/durable-files.ts";
import { markOf } from "../sources/mirror/source-of-root.ts";
import { archivedRoots, defaultArchiveFolder, type ArchiveOptions } from "./archive.ts";
import { goneFiles } from "./archived-files.ts";
import { lastHead, piecesOf, readArchived } from "./archived-file.ts";

/**
 * Adds the archived sessions of the configured data directories to the configuration. Without an archive, the
 * configuration stays as it is. If a session still exists outside the archive, it is not added.
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
    .flatMap(({ root, folder }) => {
      // A session of another agent counts as present, even if its lines have not been translated into Claude Code's
      // format yet.
      const present = new Set(
        config.mirrors
          ?.get(root)
          ?.files()
          .map(({ path }) => path),
      );
      return makeView({ root, folder, present }, viewFolder(config, folder)) ?? [];
    });
  if (views.length === 0) return config;
  return await Promise.resolve({ ...config, dataPath: [...live.present, ...views], archived: views });
}

/** Returns the data directories to read, and those that exist. A deleted directory may still be in the archive. */
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
  // Without a cache folder, the unpacked files are in the folder of the archive, which also belongs to Skein.
  const cache = cacheFolder(config);
  const name = createHash("sha256").update(archiveFolder).digest("hex").slice(0, 16);
  return cache === null ? join(dirname(archiveFolder), "view") : join(cache, "archive", name);
}

interface ArchivedView {
  readonly root: string;
  readonly folder: string;
  /** The transcripts of another agent's sessions, even if their lines have not been translated yet. */
  readonly present: ReadonlySet<string>;
}

/** Updates the folder with the unpacked files. Returns undefined if the data directory still has every archived file. */
function makeView({ root, folder, present }: ArchivedView, view: string): string | undefined {
  const gone = goneFiles(folder, root).filter(
    (path) => path !== "history.jsonl" && !present.has(join(root, path.replace(/\.meta\.json$/, ".jsonl"))),
  );
  const wanted = new Set(gone.map((path) => join(view, path)));
  for (const path of filesBelow(view).files) {
    if (wanted.has(path) || path === join(view, "source.json")) continue;
    removeFile(path);
    removeEmptyFolders(dirname(path), view);
  }
  for (const path of gone) unpack(join(folder, path), join(view, path));
  if (gone.length > 0) nameSource(root, view);
  return gone.length === 0 ? undefined : view;
}

/** Records the agent of the data directory in the folder. The unpacked files belong to this agent. */
function nameSource(root: string, view: string): void {
  const mark = markOf(root);
  const path = join(view, "source.json");
  if (mark && !existsSync(path))
    writeFileSync(path, JSON.stringify({ ...mark, claims: [], problems: [] }), { mode: 0o600 });
}

/** Unpacks an archived file. Does nothing if the target already has the archived size and modification time. */
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
