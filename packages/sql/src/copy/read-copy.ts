import { statSync } from "node:fs";
import type { DuckDBConnection } from "@duckdb/node-api";
import type { FileHead, FileStamp, RowCount } from "../transcripts/file-details.ts";
import { literal } from "../database/quote.ts";
import type { CopyPlace } from "./copy-place.ts";

/** The name under which a copy is attached. */
export const COPY = "skein_copy";

/** A transcript at the time when its rows were copied. */
export interface CopiedFile extends FileStamp, FileHead, RowCount {
  /** The number of the file in the tables of the copy: -1, -2, … */
  readonly place: number;
}

/** The attached copy, with its files by path. */
export interface Copy {
  readonly stamp: string;
  readonly files: ReadonlyMap<string, CopiedFile>;
}

export interface CopyReader {
  /** Attaches the newest copy. Returns null if no copy exists, or if it cannot be read. */
  attach(): Promise<Copy | null>;
}

/**
 * Creates a reader. An attached copy stays valid until it is detached, because a build replaces the file and never
 * changes it.
 */
export function createCopyReader(connection: DuckDBConnection, place: CopyPlace | null): CopyReader {
  let copy: Copy | null = null;
  let stamp = "";

  return {
    async attach() {
      if (place === null) return null;
      const now = stampOf(place.file);
      if (now === stamp) return copy;
      stamp = now;
      if (copy) await connection.run(`DETACH ${COPY}`);
      copy = now === "" ? null : await attached(place.file, now);
      return copy;
    },
  };

  async function attached(file: string, now: string): Promise<Copy | null> {
    try {
      await connection.run(`ATTACH ${literal(file)} AS ${COPY} (READ_ONLY)`);
    } catch {
      // The file is not a database. The next build of the copy replaces it.
      return null;
    }
    try {
      return { stamp: now, files: await readCopiedFiles(connection, COPY) };
    } catch {
      await connection.run(`DETACH ${COPY}`);
      return null;
    }
  }
}

export async function readCopiedFiles(
  connection: DuckDBConnection,
  database: string,
): Promise<ReadonlyMap<string, CopiedFile>> {
  const reader = await connection.runAndReadAll(
    `SELECT path, place, size, mtime, inode, rows, is_damaged, is_long, longest, cwd, session_id FROM ${database}.files`,
  );
  return new Map(
    reader.getRows().map(([path, place, size, mtime, inode, rows, isDamaged, isLong, longest, cwd, sessionId]) => [
      String(path),
      {
        place: Number(place),
        size: Number(size),
        mtimeMs: Number(mtime),
        inode: Number(inode),
        rows: Number(rows),
        isDamaged: isDamaged === true,
        isLong: isLong === true,
        longest: Number(longest),
        cwd: typeof cwd === "string" ? cwd : null,
        sessionId: typeof sessionId === "string" ? sessionId : null,
      },
    ]),
  );
}

function stampOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat ? `${stat.ino} ${stat.size} ${stat.mtimeMs}` : "";
}
