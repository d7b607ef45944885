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

/** Which records of one tenant and kind, and which page of them. */
export interface RecordQuery {
  readonly tenant: string;
  readonly kind: string;
  readonly field?: { readonly name: string; readonly value: string };
  readonly limit?: number;
  readonly cursor?: string;
}

/**
 * Stores small data that is not a session. Rules, tested on every store:
 *
 * - `put` takes one or several records and stores all or none. If a version is not the expected one, it rejects with
 *   `conflict` (`already_exists` for an expected 0) and changes nothing.
 * - A value is returned as it was put (JSON). Records of other tenants do not exist.
 * - `list` is in the order of ids, greatest first, which for UUID v7 is newest first.
 */
export interface Records {
  /** The record, or undefined if the tenant has none with this id. */
  get(tenant: string, kind: string, id: string): Promise<StoredRecord | undefined>;
  /** Stores the records and returns them with their new versions. */
  put(puts: readonly RecordPut[]): Promise<readonly StoredRecord[]>;
  /** One page; `cursor` is for the next one, and null at the end. */
  list(query: RecordQuery): Promise<{ readonly items: readonly StoredRecord[]; readonly cursor: string | null }>;
  /** Every record of every tenant, in any order, to move or check a whole store. */
  scan(): AsyncIterable<StoredRecord>;
  /** Deletes a record. Returns whether there was one. */
  delete(tenant: string, kind: string, id: string): Promise<boolean>;
}
