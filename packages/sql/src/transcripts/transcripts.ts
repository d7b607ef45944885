/**
 * Brings the tables up to date with the transcripts. The rows of a file come from the copy if the copy has its current
 * content; every other file is scanned in place.
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
  /** The folder that keeps details about files for later processes; null stores none. */
  readonly cacheFolder: string | null;
  /** The copy to read from; null reads every file in place. */
  readonly copy: CopyPlace | null;
  /** A folder for temporary files, which the caller removes. */
  readonly folder: string;
  readonly memory: MemoryLimit;
}

/** How the transcripts are shown to one statement. */
export interface TranscriptForm {
  /**
   * `uncounted`: the reader fails on a line that it cannot read. `counted`: such lines are known and repaired, and the reader
   * skips them. `numbered`: counted, and lines have numbers, which allows only one thread.
   */
  readonly rows: "uncounted" | "counted" | "numbered";
  /** Whether `scan.branch` is filled. */
  readonly branches: boolean;
  /** Whether `scan.objects` has the lines themselves. The copy does not contain them, so every file is read. */
  readonly lines: boolean;
  /** A condition on `skein.files`: other files are not read. Null reads all. */
  readonly condition: string | null;
}

export interface Transcripts {
  /** Finds the files, and updates the tables if anything has changed. */
  refresh(): Promise<Files>;
  /** Shows the files of the last refresh in this form. Returns the files with the counts that the form needed. */
  show(files: Files, form: TranscriptForm): Promise<Files>;
  /** The files of the last refresh; undefined before the first. */
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
      if (files.stamp !== current?.stamp) throw new Error("These files are not those of the last refresh.");
      // Counting comes first: it refills the tables, without branches and without the condition.
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

  /** Counts the rows of all files. Returns the files with their counts, and adds the found damage to the tables. */
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
