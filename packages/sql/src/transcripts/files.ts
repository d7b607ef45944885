/** Lists the existing transcripts with the details that are known before a scan. A `Files` value never changes. */
import { accessSync, constants } from "node:fs";
import type { DataFile } from "@skein/history/discover";
import type { Copy, CopiedFile } from "../copy/read-copy.ts";
import { type FileCache, type FileHead, type RowCount, headOf, isSame } from "./file-details.ts";
import type { FoundFiles } from "./find-files.ts";

/** The transcripts as they were at one moment. */
export interface Files {
  /** A fingerprint that changes if a file or the cached copy changes. */
  readonly stamp: string;
  /**
   * The files by time of change. The file that is being written comes last, so its growth does not change the line
   * numbers of other files.
   */
  readonly known: readonly KnownFile[];
  readonly unread: readonly UnreadFile[];
}

export interface KnownFile {
  readonly file: DataFile;
  readonly head: FileHead;
  /** Undefined until the rows are counted. */
  readonly count: RowCount | undefined;
  /** Undefined if the copy does not have the current content of the file. In this case the file is scanned in place. */
  readonly copied: CopiedFile | undefined;
}

/** A file that cannot be read, or that the history library does not recognise as a transcript. */
interface UnreadFile {
  readonly file: string;
  readonly kind: "unreadable" | "skipped";
  readonly message: string;
}

export function stampOf({ files, skipped }: FoundFiles, copy: Copy | null): string {
  const each = files.map(({ path, size, mtimeMs, inode }) => `${path}\0${size}\0${mtimeMs}\0${inode}`);
  return [copy?.stamp, ...each, ...skipped.map(({ path }) => path)].join("\n");
}

/**
 * Returns the files with their details. Reads the beginning of a file only if neither the copy nor the cache has its
 * details.
 */
export function readFiles(found: FoundFiles, copy: Copy | null, cache: FileCache): Files {
  const unreadable: UnreadFile[] = [];
  const known = found.files
    .toSorted((a, b) => a.mtimeMs - b.mtimeMs || (a.path < b.path ? -1 : 1))
    .flatMap((file): KnownFile[] => {
      const copied = copy?.files.get(file.path);
      if (copied && isSame(copied, file)) return [{ file, head: copied, count: copied, copied }];
      const cached = cache.get(file.path);
      try {
        accessSync(file.path, constants.R_OK);
        if (cached && isSame(cached, file)) return [{ file, head: cached, count: cached, copied: undefined }];
        return [{ file, head: headOf(file.path), count: undefined, copied: undefined }];
      } catch (error) {
        unreadable.push({ file: file.path, kind: "unreadable", message: codeOf(error) });
        return [];
      }
    });
  const skipped = found.skipped.map(
    ({ path, reason, message }) => ({ file: path, kind: "skipped", message: message ?? reason }) as const,
  );
  return { stamp: stampOf(found, copy), known, unread: [...unreadable, ...skipped] };
}

/**
 * Returns the files that are read in place, because the copy does not have them. The index in this list is the `place`
 * in the tables.
 */
export function scannedFiles({ known }: Files): readonly KnownFile[] {
  return known.filter(({ copied }) => !copied);
}

export function scannedBytes(files: Files): number {
  return scannedFiles(files).reduce((sum, { file }) => sum + file.size, 0);
}

/** Whether all rows are counted, so that lines can be numbered and damage is known. */
export function isCounted({ known }: Files): boolean {
  return known.every(({ count }) => count);
}

/**
 * Whether the line numbers of `before` are still correct. Every scanned file must be unchanged, but the last file may
 * have grown.
 */
export function areNumbersRight(before: Files, now: Files): boolean {
  const files = new Map(now.known.map(({ file }) => [file.path, file]));
  return scannedFiles(before).every(({ file }, at, { length }) => {
    const current = files.get(file.path);
    if (!current) return false;
    const hasGrown = at === length - 1 && current.inode === file.inode && current.size >= file.size;
    return hasGrown || isSame(current, file);
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "cannot be read";
}
