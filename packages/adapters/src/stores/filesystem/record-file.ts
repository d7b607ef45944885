import { accessSync, constants, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  type ReadRecords,
  type Records,
  type StoredRecord,
  checkVersion,
  listRecords,
  storedRecord,
} from "@skein/core";
import { KnownError } from "@skein/protocol";
import { type Appender, makeFolder, readBytes, replaceFile, syncFolder, withKnownErrors } from "./durable-files.ts";
import { isTorn, linesOf, withChecksum, checkedObject } from "./checksum-lines.ts";
import { damagedLine } from "./session-log.ts";
import { isStoreFolder } from "./version-file.ts";

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
  const records: StoredRecords = new Map();
  let { size, lines } = await withKnownErrors(path, load);
  let chain: Promise<unknown> = Promise.resolve();

  async function load(): Promise<{ size: number; lines: number }> {
    const { bytes, good, lines: count } = await readLines(path, records);
    // The first append must create the file, so an empty file is removed.
    if (bytes && good === 0) rmSync(path);
    else if (bytes && good < bytes.length) await replaceFile(path, bytes.subarray(0, good), true);
    return { size: good, lines: count };
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
    apply(line, records);
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

type StoredRecords = Map<string, StoredRecord>;

/**
 * Reads the records of a folder without changing it, also while another process uses the folder. Returns undefined if
 * the folder is empty.
 */
export async function readFolderRecords(folder: string): Promise<ReadRecords | undefined> {
  const path = join(folder, "records", NAME);
  return withKnownErrors(folder, async () => {
    if (!isStoreFolder(folder)) return undefined;
    accessSync(folder, constants.W_OK);
    const records: StoredRecords = new Map();
    await readLines(path, records);
    const refuse = async (): Promise<never> => {
      throw new KnownError("read_only", "The folder was opened for reading.");
    };
    return {
      records: {
        get: async (tenant, kind, id) => records.get(keyOf(tenant, kind, id)),
        list: async (query) => listRecords(records.values(), query),
        async *scan() {
          yield* records.values();
        },
        put: refuse,
        delete: refuse,
      },
      isOlder: false,
      close: async () => {},
    };
  });
}

/** Adds the records of the file to `records`. `good` is where the last complete line ends. */
async function readLines(
  path: string,
  records: StoredRecords,
): Promise<{ readonly bytes: Buffer | undefined; readonly good: number; readonly lines: number }> {
  const there = statSync(path, { throwIfNoEntry: false });
  const bytes = there ? await readBytes(path) : Buffer.alloc(0);
  let [good, lines] = [0, 0];
  for (const line of linesOf(bytes)) {
    lines += 1;
    const parsed = line.whole ? (checkedObject(line.text) as RecordLine | undefined) : undefined;
    if (!parsed && isTorn(line, bytes)) break;
    if (!parsed) throw damagedLine(NAME, lines);
    apply(parsed, records);
    good = line.offset + line.text.length + 1;
  }
  return { bytes: there && bytes, good, lines };
}

function apply(line: RecordLine, records: StoredRecords): void {
  for (const record of line.put) records.set(keyOf(record.tenant, record.kind, record.id), record);
  for (const key of line.delete) records.delete(keyOf(...key));
}

function keyOf(tenant: string, kind: string, id: string): string {
  return JSON.stringify([tenant, kind, id]);
}
