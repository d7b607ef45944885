/** Stored data that is not a session: an agent, a model, a key, a webhook. */
export interface StoredRecord {
  readonly tenant: string;
  readonly kind: string;
  readonly id: string;
  /** Starts at 1 and increases with every put. */
  readonly version: number;
  readonly value: unknown;
  /** The values by which `list` can filter. */
  readonly fields: Readonly<Record<string, string | readonly string[]>>;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** One record to create or replace. */
export interface RecordPut {
  readonly tenant: string;
  readonly kind: string;
  readonly id: string;
  readonly value: unknown;
  readonly fields?: Readonly<Record<string, string | readonly string[]>>;
  /** The version that the caller knows; 0 if the record must not exist yet. Without `expect`, the last put wins. */
  readonly expect?: number;
}

/** Selects the records of a tenant and a kind, and a page of the list. */
export interface RecordQuery {
  readonly tenant: string;
  readonly kind: string;
  readonly field?: { readonly name: string; readonly value: string };
  readonly limit?: number;
  readonly cursor?: string;
}

/**
 * Stores small data that is not a session. These rules are tested on every store:
 *
 * - `put` stores all given records or none. If a record does not have the expected version, `put` rejects with `conflict`
 *   and changes nothing. If version 0 was expected, it rejects with `already_exists`.
 * - A value is returned as it was put (JSON). A tenant never gets records of another tenant.
 * - `list` begins with the greatest id. For UUID v7, this is the newest record.
 */
export interface Records {
  /** Returns the record. Undefined if the tenant has no record with this id. */
  get(tenant: string, kind: string, id: string): Promise<StoredRecord | undefined>;
  /** Stores the records and returns them with their new versions. */
  put(puts: readonly RecordPut[]): Promise<readonly StoredRecord[]>;
  /** Returns a page. `cursor` is for the next page, and null at the end. */
  list(query: RecordQuery): Promise<{ readonly items: readonly StoredRecord[]; readonly cursor: string | null }>;
  /** Returns all records of all tenants, in any order. Used to move or check a whole store. */
  scan(): AsyncIterable<StoredRecord>;
  /** Deletes a record. Returns whether the record existed. */
  delete(tenant: string, kind: string, id: string): Promise<boolean>;
}

/** The records of a store that was opened only for reading. Nothing in the store changes, not even its schema. */
export interface ReadRecords {
  /** Writing is rejected. */
  readonly records: Records;
  /** Whether the store has an older schema, which the next start of a server updates. */
  readonly isOlder: boolean;
  close(): Promise<void>;
}
