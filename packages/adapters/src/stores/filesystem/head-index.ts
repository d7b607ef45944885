import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { Session } from "@skein/protocol";
import { addToFile, readBytes, replaceFile } from "./durable-files.ts";
import type { Documented, Head, Heads } from "./heads.ts";
import { linesOf, withChecksum, checkedObject } from "./checksum-lines.ts";
import type { KeptKey } from "./session-log.ts";

/**
 * What `heads.jsonl` says about a session. It only saves reading every log at open, and is never trusted over one: an
 * entry counts if the log still has the size and the time that it had when the entry was written.
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
  /** Those that earlier entries of the session do not have. */
  readonly keys: readonly KeptKey[];
  /** Earlier entries of this session are of another one that had its id, or to be forgotten. */
  readonly fresh: boolean;
}

/** The derived list of sessions on disk: lines are added, later ones win, and now and then it is written anew. */
export interface HeadIndex {
  read(): Promise<ReadonlyMap<string, IndexEntry>>;
  /** Adds what is known of these sessions now. */
  add(heads: readonly Head[]): Promise<void>;
  rewrite(): Promise<void>;
  forget(sessionId: string): void;
}

export function createHeadIndex(folder: string, heads: Heads): HeadIndex {
  const path = join(folder, "heads.jsonl");
  /** How many keys of a session the file has. */
  const saved = new Map<string, number>();
  let lines = 0;
  let broken = true;

  function entryOf(head: Head, all: boolean): Buffer | undefined {
    const { id, bytes, last, kept, session, documents, keys } = head;
    const stat = lstatSync(heads.path(id), { throwIfNoEntry: false });
    // A newer append is under way: it will come back here.
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
        // Only the last line may be unfinished. A gap before it could hide a key, so then nothing counts.
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
