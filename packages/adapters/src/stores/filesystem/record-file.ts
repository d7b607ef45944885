import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Records, type StoredRecord, checkVersion, listRecords, storedRecord } from "@skein/core";
import { type Appender, makeFolder, readBytes, replaceFile, syncFolder, withKnownErrors } from "./durable-files.ts";
import { isTorn, linesOf, withChecksum, checkedObject } from "./checksum-lines.ts";
import { damagedLine } from "./session-log.ts";

export interface RecordFileDeps {
  readonly folder: string;
  readonly appender: Appender;
  readonly now: () => number;
  readonly checkOpen: () => void;
}

/** One line of `records/records.jsonl`. It stores a put of records, or a delete. */
interface RecordLine {
  readonly put: readonly StoredRecord[];
  readonly delete: readonly (readonly [tenant: string, kind: string, id: string])[];
}

const NAME = "records.jsonl";
/** How many outdated lines the file may have, beyond one outdated line per record, before it is rewritten. */
const SPARE_LINES = 1000;

/**
 * Keeps records in memory and in a log on disk. A put of several records is one line, so all of them or none are
 * stored.
 */
export async function openRecords({ folder, appender, now, checkOpen }: RecordFileDeps): Promise<Records> {
  const path = join(folder, "records", NAME);
  makeFolder(join(folder, "records"));
  const records = new Map<string, StoredRecord>();
  const keyOf = (tenant: string, kind: string, id: string): string => JSON.stringify([tenant, kind, id]);
  let { size, lines } = await withKnownErrors(path, load);
  let chain: Promise<unknown> = Promise.resolve();

  async function load(): Promise<{ size: number; lines: number }> {
    const there = statSync(path, { throwIfNoEntry: false });
    const bytes = there ? await readBytes(path) : Buffer.alloc(0);
    let [good, count] = [0, 0];
    for (const line of linesOf(bytes)) {
      count += 1;
      const parsed = line.whole ? (checkedObject(line.text) as RecordLine | undefined) : undefined;
      if (!parsed && isTorn(line, bytes)) break;
      if (!parsed) throw damagedLine(NAME, count);
      apply(parsed);
      good = line.offset + line.text.length + 1;
    }
    // The first append must create the file, so an empty file is removed.
    if (there && good === 0) rmSync(path);
    else if (good < bytes.length) await replaceFile(path, bytes.subarray(0, good), true);
    return { size: good, lines: count };
  }

  function apply(line: RecordLine): void {
    for (const record of line.put) records.set(keyOf(record.tenant, record.kind, record.id), record);
    for (const key of line.delete) records.delete(keyOf(...key));
  }

  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = chain.then(work);
    chain = done.catch(() => {});
    return done;
  }

  async function write(line: RecordLine): Promise<void> {
    const bytes = withChecksum(JSON.stringify(line));
    await appender.grow({ path, bytes, size });
    if (size === 0) await syncFolder(join(folder, "records"));
    size += bytes.length;
    lines += 1;
    apply(line);
    if (lines > 2 * records.size + SPARE_LINES) await rewrite();
  }

  async function rewrite(): Promise<void> {
    const all = [...records.values()].map((record) => withChecksum(JSON.stringify({ put: [record], delete: [] })));
    const bytes = Buffer.concat(all);
    if (bytes.length === 0) return;
    await withKnownErrors(path, () => replaceFile(path, bytes, true));
    size = bytes.length;
    lines = all.length;
  }

  return {
    async get(tenant, kind, id) {
      checkOpen();
      return records.get(keyOf(tenant, kind, id));
    },
    async put(puts) {
      checkOpen();
      return inTurn(async () => {
        const at = new Date(now()).toISOString();
        for (const put of puts) checkVersion(put, records.get(keyOf(put.tenant, put.kind, put.id))?.version ?? 0);
        const made = new Map<string, StoredRecord>();
        const stored = puts.map((put) => {
          const key = keyOf(put.tenant, put.kind, put.id);
          const record = storedRecord(put, made.get(key) ?? records.get(key), at);
          made.set(key, record);
          return record;
        });
        if (stored.length > 0) await write({ put: stored, delete: [] });
        return stored;
      });
    },
    async list(query) {
      checkOpen();
      return listRecords(records.values(), query);
    },
    async *scan() {
      checkOpen();
      yield* records.values();
    },
    async delete(tenant, kind, id) {
      checkOpen();
      return inTurn(async () => {
        if (!records.has(keyOf(tenant, kind, id))) return false;
        await write({ put: [], delete: [[tenant, kind, id]] });
        return true;
      });
    },
  };
}
