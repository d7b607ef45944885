import type { Store } from "@skein/core";

/** Which session comes next while more wait than can be driven: one tenant after the other, so that none is in the way of others. */
export interface TenantTurns {
  /** More sessions are due than can be driven: from now on tenants take turns, until nobody waits. */
  crowded(): void;
  /** The session whose turn it is; undefined if nobody has to take turns. */
  next(): Promise<string | undefined>;
}

/** How many sessions of one tenant are looked at together. */
const PER_TENANT = 16;

export function createTurns({ store, now }: { readonly store: Store; readonly now: () => number }): TenantTurns {
  let isCrowded = false;
  /** Sessions in the order of their turns, from one look at the store. */
  let waiting: string[] = [];

  return {
    crowded: () => void (isCrowded = true),
    async next() {
      if (!isCrowded) return undefined;
      if (waiting.length === 0)
        waiting = byTurns(await store.due({ before: now(), perTenant: PER_TENANT, limit: 1000 }));
      isCrowded = waiting.length > 0;
      return waiting.shift();
    },
  };
}

/** The first of each tenant, then the second of each, and so on. */
function byTurns(due: readonly { readonly sessionId: string; readonly tenant: string }[]): string[] {
  const rounds: string[][] = [];
  const ofTenant = new Map<string, number>();
  for (const { sessionId, tenant } of due) {
    const round = ofTenant.get(tenant) ?? 0;
    ofTenant.set(tenant, round + 1);
    (rounds[round] ??= []).push(sessionId);
  }
  return rounds.flat();
}
