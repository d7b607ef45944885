import type { RecordPut, Records, StoredRecord } from "../ports/records.ts";
import { type Vault, isSealed, missingKey, sealedWith } from "./vault.ts";

/** Fields of records that are secrets, by the kind of the record. Text is sealed as it is, anything else as JSON. */
const SECRET_FIELDS: Readonly<Record<string, readonly string[]>> = {
  webhook: ["secret"],
  hook_secret: ["secret"],
  // Variables, headers and addresses of a session's MCP servers and hooks.
  claude_session: ["secrets"],
  secret: ["text"],
  // The stored HTTP response for repeated requests. It may contain a webhook's secret.
  answer: ["answer"],
};

/**
 * Seals the secrets of records in the store, and opens them for readers. Without a vault, nothing is sealed, and
 * reading a sealed secret fails with `secret_sealed`. Reasons: docs/decisions/171-secrets-at-rest.md.
 */
export function sealedRecords(records: Records, vault: Vault | undefined): Records {
  const opened = (record: StoredRecord): StoredRecord => changed(record, (text, place) => openText(text, place, vault));
  return {
    ...records,
    async get(tenant, kind, id) {
      const record = await records.get(tenant, kind, id);
      return record && opened(record);
    },
    async put(puts) {
      const stored = await records.put(vault ? puts.map((put) => sealPut(put, vault)) : puts);
      return stored.map(opened);
    },
    async list(query) {
      const page = await records.list(query);
      return { ...page, items: page.items.map(opened) };
    },
  };
}

/** How many records have a secret that is not sealed. */
export async function countUnsealed(records: Pick<Records, "scan">): Promise<number> {
  let count = 0;
  for await (const { kind, value } of records.scan()) {
    const fields = SECRET_FIELDS[kind] ?? [];
    const kept = fields.map((field) => (value as Readonly<Record<string, unknown>>)[field] ?? null);
    if (kept.some((each) => each !== null && !isEmpty(each) && (typeof each !== "string" || !isSealed(each))))
      count += 1;
  }
  return count;
}

/** Returns whether a list of secrets is empty, as in a session without secrets. */
function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/**
 * Seals every secret with the first key of the vault, if it is not sealed with that key yet. Returns how many records
 * changed.
 */
export async function resealRecords(records: Records, vault: Vault): Promise<number> {
  let count = 0;
  for await (const record of records.scan()) {
    const fields = SECRET_FIELDS[record.kind] ?? [];
    const value = record.value as Readonly<Record<string, unknown>>;
    const isOld = fields.some((field) => {
      const kept = value[field] ?? null;
      return kept !== null && (typeof kept !== "string" || sealedWith(kept) !== vault.keyId);
    });
    if (!isOld) continue;
    const { tenant, kind, id, fields: filters, version } = record;
    const plain = changed(record, (text, place) => openText(text, place, vault)).value;
    await records.put([sealPut({ tenant, kind, id, value: plain, fields: filters, expect: version }, vault)]);
    count += 1;
  }
  const { items } = await records.list({ ...MARK, limit: 200 });
  for (const { id } of items) if (id !== vault.keyId) await records.delete(MARK.tenant, MARK.kind, id);
  return count;
}

/**
 * A record of this kind exists for every encryption key that has sealed secrets of the store. Its id is the id of the
 * key.
 */
const MARK = { tenant: "$secrets", kind: "sealed_with" } as const;

/**
 * Called before a server starts. Rejects a store if its secrets need an encryption key that the server does not have.
 * The operator can declare such a key lost (`lost`). Finally records the key that seals from now on, unless `notes` is
 * false.
 */
export async function checkSealedWith(
  records: Records,
  vault: Vault | undefined,
  lost: readonly string[] = [],
  { notes = true } = {},
): Promise<void> {
  const { items } = await records.list({ ...MARK, limit: 200 });
  const missing = items.find(({ id }) => !vault?.keyIds.includes(id) && !lost.includes(id));
  if (missing) throw missingKey(missing.id);
  if (notes && vault && !items.some(({ id }) => id === vault.keyId))
    await records.put([{ ...MARK, id: vault.keyId, value: {} }]);
}

function sealPut(put: RecordPut, vault: Vault): RecordPut {
  const fields = SECRET_FIELDS[put.kind];
  if (!fields) return put;
  const value = { ...(put.value as Record<string, unknown>) };
  for (const field of fields) {
    const plain = value[field];
    if (plain === undefined || plain === null) continue;
    value[field] = vault.seal(sealable(plain), placeOf(put, field));
  }
  return { ...put, value };
}

const JSON_MARK = "json:";

/** Returns text as it is, except text that would be read as JSON. Returns anything else as JSON. */
function sealable(plain: unknown): string {
  return typeof plain === "string" && !plain.startsWith(JSON_MARK) ? plain : JSON_MARK + JSON.stringify(plain);
}

function changed(record: StoredRecord, open: (text: string, place: string) => string): StoredRecord {
  const fields = SECRET_FIELDS[record.kind];
  if (!fields || typeof record.value !== "object" || record.value === null) return record;
  const value = { ...(record.value as Record<string, unknown>) };
  for (const field of fields) {
    const kept = value[field];
    if (typeof kept !== "string" || !isSealed(kept)) continue;
    const plain = open(kept, placeOf(record, field));
    value[field] = plain.startsWith(JSON_MARK) ? JSON.parse(plain.slice(JSON_MARK.length)) : plain;
  }
  return { ...record, value };
}

function openText(text: string, place: string, vault: Vault | undefined): string {
  const id = sealedWith(text);
  if (vault || id === undefined) return vault?.open(text, place) ?? text;
  throw missingKey(id);
}

function placeOf({ tenant, kind, id }: Pick<RecordPut, "tenant" | "kind" | "id">, field: string): string {
  return [tenant, kind, id, field].join("/");
}
