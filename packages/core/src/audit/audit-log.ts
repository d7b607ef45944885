import { AuditEntry, type Ids, isKnownError } from "@skein/protocol";
import type { Records } from "../ports/records.ts";

interface AuditQuery {
  readonly action?: string | undefined;
  readonly outcome?: string | undefined;
  readonly actor?: string | undefined;
  /** ISO times: `since` is included, `until` is not. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** The audit log of a store. Entries are appended, listed, and deleted when they are too old. They are never changed. */
export interface AuditLog {
  append(
    tenant: string,
    entry: Partial<Omit<AuditEntry, "id" | "created_at">> & Pick<AuditEntry, "action">,
  ): Promise<void>;
  /** Newest first. */
  list(
    tenant: string,
    query?: AuditQuery,
  ): Promise<{ readonly items: readonly AuditEntry[]; readonly cursor: string | null }>;
  /** Deletes entries older than `keepDays`, of every tenant. */
  sweep(): Promise<void>;
}

interface AuditDeps {
  readonly records: Records;
  readonly ids: Ids;
  readonly now: () => number;
  readonly keepDays?: number | undefined;
}

const KIND = "audit";
/** A record of this kind exists for every tenant with audit entries, so that `sweep` finds these tenants. */
const TENANTS = { tenant: "$audit", kind: "tenant" } as const;
const AUDIT_DAYS = 365;
const PAGE = 200;
const DAY_MS = 24 * 3600 * 1000;
const DETAIL_LENGTH = 500;

export function createAuditLog({ records, ids, now, keepDays = AUDIT_DAYS }: AuditDeps): AuditLog {
  const known = new Set<string>();

  async function noteTenant(tenant: string): Promise<void> {
    if (known.has(tenant)) return;
    try {
      await records.put([{ ...TENANTS, id: tenant, value: {}, expect: 0 }]);
    } catch (error) {
      if (!isKnownError(error, "already_exists", "conflict")) throw error;
    }
    known.add(tenant);
  }

  async function* entries(tenant: string, field?: { readonly name: string; readonly value: string }, from?: string) {
    for (let cursor: string | null | undefined = from; cursor !== null;) {
      const page: Awaited<ReturnType<Records["list"]>> = await records.list({
        tenant,
        kind: KIND,
        limit: PAGE,
        ...(field && { field }),
        ...(cursor !== undefined && { cursor }),
      });
      for (const { id, value } of page.items) yield { ...AuditEntry.parse({ ...(value as object), id }) };
      ({ cursor } = page);
    }
  }

  return {
    async append(tenant, { action, target = null, outcome = "done", actor = null, ...rest }) {
      await noteTenant(tenant);
      const { key_id = null, address = null, request_id = null, detail = null } = rest;
      const created_at = new Date(now()).toISOString();
      const value = {
        created_at,
        action,
        target,
        outcome,
        actor,
        key_id,
        address,
        request_id,
        detail: detail?.slice(0, DETAIL_LENGTH) ?? null,
      };
      const fields = { action, outcome, ...(actor !== null && { actor }) };
      await records.put([{ tenant, kind: KIND, id: ids(), value, fields, expect: 0 }]);
    },
    async list(tenant, { action, outcome, actor, since, until, limit = 50, cursor } = {}) {
      const [name, value] = Object.entries({ action, actor, outcome }).find(([, given]) => given !== undefined) ?? [];
      const items: AuditEntry[] = [];
      const field = name === undefined || value === undefined ? undefined : { name, value };
      const [first, last] = [since && Date.parse(since), until && Date.parse(until)];
      for await (const entry of entries(tenant, field, cursor)) {
        const time = Date.parse(entry.created_at);
        if (typeof first === "number" && time < first) break;
        const fits = [action ?? entry.action, outcome ?? entry.outcome, actor ?? entry.actor];
        if (fits[0] !== entry.action || fits[1] !== entry.outcome || fits[2] !== entry.actor) continue;
        if (typeof last === "number" && time >= last) continue;
        if (items.length === limit) return { items, cursor: items.at(-1)?.id ?? null };
        items.push(entry);
      }
      return { items, cursor: null };
    },
    async sweep() {
      const oldest = now() - keepDays * DAY_MS;
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page: Awaited<ReturnType<Records["list"]>> = await records.list({
          ...TENANTS,
          limit: PAGE,
          ...(cursor !== undefined && { cursor }),
        });
        for (const { id: tenant } of page.items)
          // Entries are sorted by id, and an id begins with the time of the entry.
          for await (const { id, created_at } of entries(tenant, undefined, firstIdAt(oldest)))
            if (Date.parse(created_at) < oldest) await records.delete(tenant, KIND, id);
        ({ cursor } = page);
      }
    },
  };
}

/** Returns the smallest UUID v7 of a time (ms since 1970). */
function firstIdAt(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
