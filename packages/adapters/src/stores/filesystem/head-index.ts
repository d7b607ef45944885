import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { Session } from "@skein/protocol";
import { addToFile, readBytes, replaceFile } from "./durable-files.ts";
import type { Documented, Head, Heads } from "./heads.ts";
import { linesOf, withChecksum, checkedObject } from "./checksum-lines.ts";
import type { KeptKey } from "./session-log.ts";

/**
 * The entry of a session in `heads.jsonl`. With the entry, the log need not be read when the store is opened. An entry
 * is ignored if the size or the modification time of the log file has changed.
 */
export interface IndexEntry {
  readonly id: string;
  readonly bytes: number;
  readonly mtime: number;
  readonly last: number;
  readonly fence: number;
  readonly due_at: number | null;
  readonly session: Session;
  readonly documents: Documented;
  /** The idempotency keys that earlier entries of the session do not have. */
  readonly keys: readonly KeptKey[];
  /**
   * Whether earlier entries of this session must be ignored. They are outdated, or belong to a deleted session with the
   * same id.
   */
  readonly fresh: boolean;
}

/**
 * The list of sessions on disk, derived from the logs. Changes are appended as lines that replace earlier lines. From
 * time to time the file is rewritten.
 */
export interface HeadIndex {
  read(): Promise<ReadonlyMap<string, IndexEntry>>;
  /** Adds the current data of these sessions. */
  add(heads: readonly Head[]): Promise<void>;
  rewrite(): Promise<void>;
  forget(sessionId: string): void;
}

export function createHeadIndex(folder: string, heads: Heads): HeadIndex {
  const path = join(folder, "heads.jsonl");
  /** How many idempotency keys of a session the file has. */
  const saved = new Map<string, number>();
  let lines = 0;
  let broken = true;

  function entryOf(head: Head, all: boolean): Buffer | undefined {
    const { id, bytes, last, kept, session, documents, keys } = head;
    const stat = lstatSync(heads.path(id), { throwIfNoEntry: false });
    // If the size differs, a newer append is in progress and will write the entry.
    if (stat?.size !== bytes || !session) return undefined;
    const known = all ? undefined : saved.get(id);
    const entry: IndexEntry = {
      id,
      bytes,
      mtime: stat.mtimeMs,
      last,
      ...kept,
      session,
      documents,
      keys: known === undefined ? keys : keys.slice(known),
      fresh: known === undefined,
    };
    saved.set(id, keys.length);
    return withChecksum(JSON.stringify(entry));
  }

  async function rewrite(): Promise<void> {
    broken = true;
    saved.clear();
    const entries = [...heads.all()].map((head) => entryOf(head, true)).filter((entry) => entry !== undefined);
    await replaceFile(path, Buffer.concat(entries), false);
    lines = entries.length;
    broken = false;
  }

  return {
    async read() {
      const entries = new Map<string, IndexEntry>();
      const bytes = await readBytes(path).catch(() => Buffer.alloc(0));
      let bad = false;
      for (const { text } of linesOf(bytes)) {
        // Only the last line may be unfinished. If an earlier line is damaged, an idempotency key could be missing, so
        // the whole file is ignored.
        if (bad) return new Map();
        const entry = checkedObject(text) as IndexEntry | undefined;
        if (!entry) {
          bad = true;
          continue;
        }
        const before = entry.fresh ? undefined : entries.get(entry.id);
        entries.set(entry.id, before ? { ...entry, keys: [...before.keys, ...entry.keys] } : entry);
        lines += 1;
      }
      for (const { id, keys } of entries.values()) saved.set(id, keys.length);
      broken = bad || lines === 0;
      return entries;
    },
    async add(changed) {
      if (broken || lines > 4 * heads.count() + 10_000) return rewrite();
      const entries = changed.map((head) => entryOf(head, false)).filter((entry) => entry !== undefined);
      if (entries.length === 0) return;
      broken = true;
      await addToFile(path, Buffer.concat(entries).toString());
      lines += entries.length;
      broken = false;
    },
    rewrite,
    forget: (sessionId) => saved.delete(sessionId),
  };
}
