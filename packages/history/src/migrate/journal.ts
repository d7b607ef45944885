/**
 * The journal of a migration. Each step is flushed to the disk before the next step begins.
 *
 * The folder of a migration has `journal.jsonl`, and a file with the replaced bytes of each rewritten file. If the
 * journal has no step `end`, the migration was interrupted, and is finished from the journal.
 */
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { codeOf, exists, makeFolder, syncFolder } from "../disk/durable-files.ts";
import type { SpliceList } from "./splices.ts";
import type { MigrateMode, SessionMove } from "./types.ts";

/** A file of a migration, written to the journal after it was staged and checked. */
export interface MovedFile {
  readonly from: string;
  readonly to: string;
  readonly staged: string;
  readonly sourceHash: string;
  readonly hash: string;
  readonly bytes: number;
  readonly sourceSize: number;
  readonly sourceMtimeMs: number;
  /** Whether the destination already existed with the same content. If so, undo does not remove it. */
  readonly wasPresent: boolean;
  /** Whether the source is not removed: undo restores a file from a destination that existed before the migration. */
  readonly keepsSource?: boolean;
  /** The name of the file with the replaced bytes; null if nothing was replaced. */
  readonly replaced: string | null;
  /** The target of a symbolic link; null for a file. */
  readonly link: string | null;
  /**
   * The top folders of the source and the destination. Empty folders in them are removed, and also empty project
   * folders.
   */
  readonly fromTop: string;
  readonly toTop: string;
}

/** Edits of a file that many sessions share. */
export interface LineEdits {
  readonly path: string;
  /** Pairs of an old line and a new line. Null removes the old line. */
  readonly edits: readonly (readonly [old: string, now: string | null])[];
  readonly appended: readonly string[];
}

export interface KeyEdit {
  readonly path: string;
  readonly from: string;
  readonly to: string;
  readonly mode: MigrateMode;
}

export type JournalEntry =
  | {
      readonly step: "begin";
      readonly kind: "migrate" | "undo";
      readonly mode: MigrateMode;
      readonly source: string;
      readonly destination: string;
      readonly at: string;
      readonly isWholeWorkspace?: boolean;
      readonly undoes?: string;
    }
  | {
      readonly step: "staging";
      readonly sessionId: string;
      readonly move: SessionMove;
      readonly folders: readonly string[];
    }
  | { readonly step: "staged"; readonly sessionId: string; readonly files: readonly MovedFile[] }
  | { readonly step: "published" | "done" | "failed"; readonly sessionId: string }
  | { readonly step: "indexing"; readonly lines: readonly LineEdits[]; readonly keys: readonly KeyEdit[] }
  | { readonly step: "end" }
  | { readonly step: "undone"; readonly by: string };

export interface Journal {
  readonly id: string;
  readonly folder: string;
  add(entry: JournalEntry): void;
  /** Stores the replaced bytes of a file and returns the name of that file. */
  keep(splices: SpliceList): string;
}

export function openJournal(journals: string, id: string): Journal {
  const folder = join(journals, id);
  makeFolder(folder);
  const path = join(folder, "journal.jsonl");
  let kept = readdirSync(folder).length;
  return {
    id,
    folder,
    add(entry) {
      const isNew = !exists(path);
      const fd = openSync(path, "a+", 0o600);
      try {
        // A crash may have cut the last line. The next line must not be appended to it.
        writeWhole(fd, Buffer.from(`${isNew || endsWithLineFeed(path) ? "" : "\n"}${JSON.stringify(entry)}\n`));
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
      if (isNew) syncFolder(folder);
    },
    keep(splices) {
      kept += 1;
      const name = `replaced-${kept}.zst`;
      const fd = openSync(join(folder, name), "wx", 0o600);
      try {
        writeWhole(fd, zstdCompressSync(Buffer.from(JSON.stringify(splices))));
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
      syncFolder(folder);
      return name;
    },
  };
}

export function readJournal(journals: string, id: string): readonly JournalEntry[] {
  let text: string;
  try {
    text = readFileSync(join(journals, id, "journal.jsonl"), "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
  return text.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line) as JournalEntry];
    } catch {
      // A crash cut this line, so the step that it describes had not begun.
      return [];
    }
  });
}

/** Lists the ids of all migrations, the newest first. */
export function journalIds(journals: string): readonly string[] {
  try {
    return readdirSync(journals, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .sort()
      .toReversed();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

export function readReplaced(journals: string, id: string, name: string): SpliceList {
  return JSON.parse(zstdDecompressSync(readFileSync(join(journals, id, name))).toString()) as SpliceList;
}

function endsWithLineFeed(path: string): boolean {
  return readFileSync(path).at(-1) === 0x0a;
}

function writeWhole(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at);
}
