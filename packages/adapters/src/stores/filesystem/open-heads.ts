import { type Stats, lstatSync, readFileSync, readdirSync } from "node:fs";
import { truncate } from "node:fs/promises";
import { join } from "node:path";
import { KnownError, isKeptUuid } from "@skein/protocol";
import { removeEntry, withKnownErrors } from "./durable-files.ts";
import type { HeadIndex, IndexEntry } from "./head-index.ts";
import { type Head, type Heads, NOT_DOCUMENTED, logName } from "./heads.ts";
import { type LogContents, parsedLog } from "./session-log.ts";

export interface OpenHeadsDeps {
  readonly folder: string;
  readonly heads: Heads;
  readonly index: HeadIndex;
  /** False after a power failure. If false, every log is read, and every document is compared with its log. */
  readonly trustIndex: boolean;
}

/** Finds all sessions of the folder. A log is read only if its index entry is missing or outdated. */
export async function openHeads({ folder, heads, index, trustIndex }: OpenHeadsDeps): Promise<void> {
  const entries = trustIndex ? await index.read() : new Map<string, IndexEntry>();
  const logs = join(folder, "log");
  const unknown: string[] = [];
  for (const name of readdirSync(logs)) {
    const id = name.slice(0, -".jsonl".length);
    if (!name.endsWith(".jsonl") || !isKeptUuid(id)) continue;
    const entry = entries.get(id);
    const stat = lstatSync(join(logs, name));
    if (entry && isCurrent(entry, stat)) heads.add(headOfEntry(entry));
    else if (stat.isFile()) unknown.push(id);
    else heads.add(damagedHead(id, `${name} is not a file.`));
  }
  for (const id of unknown) {
    index.forget(id);
    await addFromLog(heads, id);
  }
  for (const id of entries.keys()) if (!heads.has(id)) index.forget(id);
  if (unknown.length > 0 || entries.size > heads.count()) await index.rewrite().catch(() => {});
}

function isCurrent({ bytes, mtime }: IndexEntry, stat: Stats): boolean {
  return stat.isFile() && stat.size === bytes && stat.mtimeMs === mtime;
}

async function addFromLog(heads: Heads, id: string): Promise<void> {
  const path = heads.path(id);
  // Nothing else runs at open, so the file is read synchronously. For small files this is several times as fast.
  const contents = await withKnownErrors(path, async () => parsedLog(readFileSync(path), logName(id), id)).catch(
    (error: unknown) => {
      if (error instanceof KnownError) return error;
      throw error;
    },
  );
  if (contents instanceof KnownError) {
    heads.add(damagedHead(id, contents.message, contents));
    return;
  }
  if (contents.damage || contents.log) {
    if (!contents.damage && contents.bytes < contents.size)
      await withKnownErrors(path, () => truncate(path, contents.bytes));
    heads.add(headOfLog(id, contents), contents.damage ? undefined : contents.log);
    return;
  }
  // The first append was never completed, so the session does not exist.
  removeEntry(path);
}

function headOfLog(id: string, { log, last, head, keys, bytes, damage }: LogContents): Head {
  return {
    ...emptyHead(id),
    session: log?.tables.session,
    last,
    bytes,
    fence: head.fence,
    dueAt: damage ? null : head.due_at,
    kept: head,
    keys,
    damage,
  };
}

function headOfEntry({ id, session, last, bytes, fence, due_at, keys, documents }: IndexEntry): Head {
  return {
    ...emptyHead(id),
    session,
    last,
    bytes,
    fence,
    dueAt: due_at,
    kept: { fence, due_at },
    keys,
    documents,
  };
}

function damagedHead(id: string, sentence: string, damage = new KnownError("store_corrupt", sentence)): Head {
  return { ...emptyHead(id), damage };
}

function emptyHead(id: string): Head {
  return {
    id,
    session: undefined,
    last: 0,
    bytes: 0,
    fence: 0,
    owner: null,
    leasedUntil: 0,
    dueAt: null,
    kept: { fence: 0, due_at: null },
    keys: [],
    damage: undefined,
    documents: NOT_DOCUMENTED,
  };
}
