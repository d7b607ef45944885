import { KnownError } from "@skein/protocol";
import type { RecordPut, RecordQuery, Records, StoredRecord } from "../ports/records.ts";

/** Keeps records in memory. This is the reference for the records of other stores. */
export function createMemoryRecords({ now }: { readonly now: () => number }): Records {
  const records = new Map<string, StoredRecord>();
  const keyOf = (tenant: string, kind: string, id: string): string => JSON.stringify([tenant, kind, id]);

  return {
    get: async (tenant, kind, id) => records.get(keyOf(tenant, kind, id)),
    async put(puts) {
      for (const put of puts) checkVersion(put, records.get(keyOf(put.tenant, put.kind, put.id))?.version ?? 0);
      return puts.map((put) => {
        const key = keyOf(put.tenant, put.kind, put.id);
        const stored = storedRecord(put, records.get(key), new Date(now()).toISOString());
        records.set(key, stored);
        return stored;
      });
    },
    list: async (query) => listRecords(records.values(), query),
    async *scan() {
      yield* records.values();
    },
    delete: async (tenant, kind, id) => records.delete(keyOf(tenant, kind, id)),
  };
}

/** Makes the record that a put stores. `before` is the record that it replaces, if there is one. */
export function storedRecord(
  { tenant, kind, id, value, fields }: RecordPut,
  before: StoredRecord | undefined,
  at: string,
): StoredRecord {
  return {
    tenant,
    kind,
    id,
    value: JSON.parse(JSON.stringify(value)),
    fields: fields ?? {},
    version: (before?.version ?? 0) + 1,
    createdAt: before?.createdAt ?? at,
    updatedAt: at,
  };
}

export function listRecords(all: Iterable<StoredRecord>, query: RecordQuery): Awaited<ReturnType<Records["list"]>> {
  const { tenant, kind, field, limit = 50, cursor } = query;
  const matching = [...all]
    .filter((record) => record.tenant === tenant && record.kind === kind)
    .filter((record) => !field || [record.fields[field.name]].flat().includes(field.value))
    .filter((record) => cursor === undefined || record.id < cursor)
    .sort((a, b) => (a.id < b.id ? 1 : -1));
  const items = matching.slice(0, limit);
  return { items, cursor: items.length < matching.length ? (items.at(-1)?.id ?? null) : null };
}

/** Rejects a put whose `expect` is not the stored version. */
export function checkVersion({ kind, id, expect }: RecordPut, version: number): void {
  if (expect === undefined || expect === version) return;
  if (expect === 0) throw new KnownError("already_exists", `There is already a ${kind} ${id}.`);
  throw new KnownError("conflict", `The ${kind} ${id} is at version ${version}, not at ${expect}.`, {
    details: { expected: expect, actual: version },
  });
}
