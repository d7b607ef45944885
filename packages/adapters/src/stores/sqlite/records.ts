import { type Records, type StoredRecord, checkVersion } from "@skein/core";
import type { Database } from "./database.ts";

/** How many records a scan reads with one query. */
const SCANNED = 500;

type Row = Readonly<Record<string, unknown>>;

interface SqliteRecordsDeps {
  readonly db: Pick<Database, "all" | "get" | "run" | "write">;
  readonly now: () => number;
}

/**
 * Creates the functions for records (stored data that is not a session) in sqlite. Every field by which a record can be
 * listed has a separate row.
 */
export function createSqliteRecords({ db, now }: SqliteRecordsDeps): Records {
  const select = "select * from records where tenant = ? and kind = ? and id = ?";

  function clearFields(tenant: string, kind: string, id: string): void {
    const row = db.get(select, tenant, kind, id);
    for (const [name, value] of row ? pairs(toRecord(row).fields) : [])
      db.run(
        "delete from record_fields where tenant = ? and kind = ? and name = ? and value = ? and id = ?",
        tenant,
        kind,
        name,
        value,
        id,
      );
  }

  return {
    async get(tenant, kind, id) {
      const row = db.get(select, tenant, kind, id);
      return row && toRecord(row);
    },
    put: (puts) =>
      db.write(() => {
        for (const put of puts)
          checkVersion(put, Number(db.get(select, put.tenant, put.kind, put.id)?.["version"] ?? 0));
        const at = new Date(now()).toISOString();
        return puts.map(({ tenant, kind, id, value, fields = {} }): StoredRecord => {
          clearFields(tenant, kind, id);
          db.run(
            `insert into records values (?, ?, ?, 1, ?, ?, ?, ?)
             on conflict do update set version = version + 1, value = excluded.value, fields = excluded.fields, updated_at = excluded.updated_at`,
            tenant,
            kind,
            id,
            JSON.stringify(value),
            JSON.stringify(fields),
            at,
            at,
          );
          for (const [name, entry] of pairs(fields))
            db.run("insert or ignore into record_fields values (?, ?, ?, ?, ?)", tenant, kind, name, entry, id);
          return toRecord(db.get(select, tenant, kind, id) ?? {});
        });
      }),
    async list({ tenant, kind, field, limit = 50, cursor }) {
      const before = cursor === undefined ? "" : "and r.id < ?";
      const params = cursor === undefined ? [] : [cursor];
      const rows = field
        ? db.all(
            `select r.* from record_fields f join records r using (tenant, kind, id)
              where f.tenant = ? and f.kind = ? and f.name = ? and f.value = ? ${before} order by f.id desc limit ?`,
            tenant,
            kind,
            field.name,
            field.value,
            ...params,
            limit + 1,
          )
        : db.all(
            `select r.* from records r where tenant = ? and kind = ? ${before} order by id desc limit ?`,
            tenant,
            kind,
            ...params,
            limit + 1,
          );
      const items = rows.slice(0, limit).map(toRecord);
      return { items, cursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
    },
    async *scan() {
      for (let last = ["", "", ""]; ;) {
        const rows = db.all(
          "select * from records where (tenant, kind, id) > (?, ?, ?) order by tenant, kind, id limit ?",
          ...last,
          SCANNED,
        );
        const page = rows.map(toRecord);
        yield* page;
        const end = page.at(-1);
        if (!end) return;
        last = [end.tenant, end.kind, end.id];
      }
    },
    delete: (tenant, kind, id) =>
      db.write(() => {
        clearFields(tenant, kind, id);
        return db.run("delete from records where tenant = ? and kind = ? and id = ?", tenant, kind, id) > 0;
      }),
  };
}

function pairs(fields: StoredRecord["fields"]): readonly (readonly [string, string])[] {
  return Object.entries(fields).flatMap(([name, values]) => [values].flat().map((value) => [name, value] as const));
}

function toRecord(row: Row): StoredRecord {
  return {
    tenant: row["tenant"] as string,
    kind: row["kind"] as string,
    id: row["id"] as string,
    version: row["version"] as number,
    value: JSON.parse(row["value"] as string),
    fields: JSON.parse(row["fields"] as string),
    createdAt: row["created_at"] as string,
    updatedAt: row["updated_at"] as string,
  };
}
