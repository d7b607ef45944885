/**
 * Brings the tables up to date with the transcripts. If the cached copy has the current content of a file, the rows of
 * the file come from the copy. All other files are scanned in place.
 */
import type { DuckDBConnection } from "@duckdb/node-api";
import type { CopyPlace } from "../copy/copy-place.ts";
import { COPY, createCopyReader } from "../copy/read-copy.ts";
import type { MemoryLimit } from "../database/memory-limit.ts";
import { SCAN, pieceViews } from "../tables/pieces.ts";
import { MOST_LINE_BYTES } from "../tables/scan.ts";
import { countRows } from "./count-rows.ts";
import { openFileCache } from "./file-details.ts";
import { type Files, readFiles, scannedFiles, stampOf } from "./files.ts";
import type { FoundFiles } from "./find-files.ts";
import { createShortFiles } from "./short-files.ts";
import { createTranscriptTables } from "./transcript-tables.ts";

export interface TranscriptsDeps {
  readonly connection: DuckDBConnection;
  /** Finds the files that exist now. */
  find(): FoundFiles;
  /** The folder with details about files for later processes. With null, no details are stored. */
  readonly cacheFolder: string | null;
  /** The copy of the transcripts. With null, every file is read in place. */
  readonly copy: CopyPlace | null;
  /** A folder for temporary files, which the caller removes. */
  readonly folder: string;
  readonly memory: MemoryLimit;
}

/** How the transcripts are shown to one statement. */
export interface TranscriptForm {
  /**
   * With `uncounted`, the reader fails on an unreadable line. With `counted`, unreadable lines are known and repaired,
   * and the reader skips them. With `numbered`, lines also have numbers, which allows only one thread.
   */
  readonly rows: "uncounted" | "counted" | "numbered";
  /** Whether `scan.branch` is filled. */
  readonly branches: boolean;
  /** Whether `scan.objects` has the JSON of the lines. The copy does not contain this JSON, so every file is read. */
  readonly lines: boolean;
  /** A condition on `skein.files`. Only files that match it are read. With null, all files are read. */
  readonly condition: string | null;
}

export interface Transcripts {
  /** Finds the files, and updates the tables if anything has changed. */
  refresh(): Promise<Files>;
  /**
   * Shows the files of the last refresh in the given form. Returns the files, with row counts if the form needs counts.
   */
  show(files: Files, form: TranscriptForm): Promise<Files>;
  /** Returns the files of the last refresh, or undefined before the first refresh. */
  current(): Files | undefined;
}

export function createTranscripts(deps: TranscriptsDeps): Transcripts {
  const { connection, folder, memory } = deps;
  const shortFiles = createShortFiles(folder, MOST_LINE_BYTES);
  const cache = openFileCache(deps.cacheFolder);
  const reader = createCopyReader(connection, deps.copy);
  const tables = createTranscriptTables({ connection, folder, shortFiles });
  let current: Files | undefined;

  return {
    async refresh() {
      const found = deps.find();
      const copy = await reader.attach();
      if (current && current.stamp === stampOf(found, copy)) return current;
      current = undefined;
      const files = readFiles(found, copy, cache);
      await tables.replace(files);
      const isScanned = scannedFiles(files).length > 0 || !copy;
      if (isScanned) await tables.makeScan();
      await connection.run(pieceViews({ schemas: [...(isScanned ? [SCAN] : []), ...(copy ? [COPY] : [])] }));
      current = files;
      return files;
    },

    async show(files, { rows, branches, lines, condition }) {
      if (files.stamp !== current?.stamp) throw new Error("The files do not come from the last refresh.");
      // Counting comes first, because it refills the tables without branches and without the condition.
      const shown = rows === "uncounted" ? files : await counted(files);
      current = shown;
      await tables.number(rows === "numbered");
      if (branches) await tables.showBranches(shown);
      if (lines) await tables.showLines(shown);
      await tables.restrict(shown, condition);
      return shown;
    },

    current: () => current,
  };

  /** Counts the rows of all files, and adds the found damage to the tables. Returns the files with their counts. */
  async function counted(files: Files): Promise<Files> {
    const fresh = files.known.filter(({ count }) => !count).map(({ file }) => file);
    if (fresh.length === 0) return files;
    const counts = await countRows({ connection, memory, shortFiles }, fresh);
    const known = files.known.map((each) => ({ ...each, count: each.count ?? counts.get(each.file) }));
    for (const { file, head, count } of known)
      if (count && counts.has(file)) {
        const { size, mtimeMs, inode } = file;
        cache.set(file.path, { size, mtimeMs, inode, ...head, ...count });
      }
    cache.save();
    const result = { ...files, known };
    await tables.replace(result);
    return result;
  }
}
