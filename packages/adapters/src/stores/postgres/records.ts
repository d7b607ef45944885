import { type RecordPut, type RecordQuery, type Records, type StoredRecord, checkVersion } from "@skein/core";
import { createHash } from "node:crypto";
import { jsonText, showableJson } from "../sql/body.ts";
import type { Connections } from "./connections.ts";
import type { Query, TextRow } from "./query.ts";

const COLUMNS = `r.tenant, r.kind, r.id, r.version, r.value::text, r.fields::text,
  skein.milliseconds(r.created_at), skein.milliseconds(r.updated_at)`;

const GET = {
  name: "skein-record-get",
  text: `select ${COLUMNS} from skein.records r where r.tenant = $1 and r.kind = $2 and r.id = $3`,
};
const PUT = { name: "skein-record-put", text: "select code, place, actual from skein.put_records($1, $2)" };
const LIST = {
  name: "skein-record-list",
  text: `select ${COLUMNS} from skein.records r
    where r.tenant = $1 and r.kind = $2 and ($3::text is null or r.id < $3) order by r.id desc limit $4`,
};
const LIST_BY_FIELD = {
  name: "skein-record-list-by-field",
  text: `select ${COLUMNS} from skein.record_fields f join skein.records r on r.tenant = f.tenant and r.kind = f.kind and r.id = f.id
    where f.tenant = $1 and f.kind = $2 and ($3::text is null or f.id < $3) and f.name = $5 and f.value = $6
    order by f.id desc limit $4`,
};
const SCAN = {
  patient: true,
  name: "skein-record-scan",
  text: `select ${COLUMNS} from skein.records r
    where (r.tenant, r.kind, r.id) > ($1, $2, $3) order by r.tenant, r.kind, r.id limit 500`,
};
const DELETE = {
  name: "skein-record-delete",
  text: "delete from skein.records where tenant = $1 and kind = $2 and id = $3 returning id",
};

/** Field values over this length are indexed by their hash, because the size of an index entry is limited. */
const VALUE_LIMIT = 500;

export function createPostgresRecords(connections: Connections, now: () => number): Records {
  /**
   * Names that begin with a dollar sign are not tenants. Their records are messages between processes, such as
   * heartbeats.
   */
  const queryFor = (tenant: string): Query => (tenant.startsWith("$") ? connections.urgent : connections.query);

  async function get(tenant: string, kind: string, id: string): Promise<StoredRecord | undefined> {
    const [row] = await queryFor(tenant)(GET, [tenant, kind, id]);
    return row && recordOf(row);
  }

  async function put(puts: readonly RecordPut[]): Promise<readonly StoredRecord[]> {
    const at = new Date(now()).toISOString();
    const rows = puts.map(({ tenant, kind, id, value, fields = {}, expect }) => ({
      tenant,
      kind,
      id,
      expect,
      value: jsonText(value),
      fields: jsonText(fields),
      listed: Object.entries(fields).flatMap(([name, values]) => [values].flat().map((each) => [name, listed(each)])),
    }));
    const answers = await queryFor(puts[0]?.tenant ?? "")(PUT, [at, showableJson(jsonText(rows))]);
    for (const [code, place, actual] of answers) {
      const refused = puts[Number(place) - 1];
      if (code === "conflict" && refused) checkVersion(refused, Number(actual));
    }
    const stored = await Promise.all(puts.map(({ tenant, kind, id }) => get(tenant, kind, id)));
    return stored.filter((record) => record !== undefined);
  }

  return {
    get,
    put,
    async list({ tenant, kind, field, limit = 50, cursor }: RecordQuery) {
      const values = [tenant, kind, cursor ?? null, limit + 1];
      const rows = field
        ? await queryFor(tenant)(LIST_BY_FIELD, [...values, field.name, listed(field.value)])
        : await queryFor(tenant)(LIST, values);
      const items = rows.slice(0, limit).map(recordOf);
      return { items, cursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
    },
    async *scan() {
      for (let last = ["", "", ""]; ;) {
        const page = (await connections.query(SCAN, last)).map(recordOf);
        yield* page;
        const end = page.at(-1);
        if (!end) return;
        last = [end.tenant, end.kind, end.id];
      }
    },
    async delete(tenant, kind, id) {
      return (await queryFor(tenant)(DELETE, [tenant, kind, id])).length > 0;
    },
  };
}

function recordOf(row: TextRow): StoredRecord {
  const [tenant, kind, id, version, value, fields, createdAt, updatedAt] = row;
  return {
    tenant: tenant ?? "",
    kind: kind ?? "",
    id: id ?? "",
    version: Number(version),
    value: JSON.parse(value ?? "null"),
    fields: JSON.parse(fields ?? "{}"),
    createdAt: new Date(Number(createdAt)).toISOString(),
    updatedAt: new Date(Number(updatedAt)).toISOString(),
  };
}

function listed(value: string): string {
  return value.length <= VALUE_LIMIT && value.isWellFormed() && !value.includes("\0")
    ? value
    : `sha256:${createHash("sha256").update(value).digest("hex")}`;
}
