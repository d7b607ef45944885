import { rmSync } from "node:fs";
import { join } from "node:path";
import type { DataFile } from "@skein/history/discover";
import { type FileStamp, isSame } from "./file-details.ts";
import { longLines, writeShortened } from "./shorten-lines.ts";

/** A copy of a transcript with shortened lines. DuckDB reads this copy if lines of the transcript are too long. */
interface ShortFile {
  readonly path: string;
  readonly damage: readonly { readonly line: number; readonly kind: string; readonly message: string }[];
}

export interface ShortFiles {
  /** Returns undefined if the file has no line that is too long. */
  of(file: DataFile): ShortFile | undefined;
}

/** Shortens a file when its short form is first needed. The caller removes the folder. */
export function createShortFiles(folder: string, most: number): ShortFiles {
  const known = new Map<string, FileStamp & { readonly short: ShortFile | undefined }>();
  let count = 0;

  return {
    of(file) {
      if (file.size <= most) return undefined;
      const last = known.get(file.path);
      if (last && isSame(last, file)) return last.short;
      if (last?.short) rmSync(last.short.path, { force: true });
      const { size, mtimeMs, inode } = file;
      const short = made(file.path);
      known.set(file.path, { size, mtimeMs, inode, short });
      return short;
    },
  };

  function made(path: string): ShortFile | undefined {
    try {
      const lines = longLines(path, most);
      if (lines.length === 0) return undefined;
      count += 1;
      const target = join(folder, `short-${count}.jsonl`);
      writeShortened(path, target, { lines, most });
      const damage = lines.map(({ line, start, end }) => ({
        line,
        kind: "too-long",
        message: `the line has ${end - start} bytes; only the beginnings of its long texts are read`,
      }));
      return { path: target, damage };
    } catch {
      // The file was deleted or is not readable. DuckDB reports this when it reads the transcript.
      return undefined;
    }
  }
}
