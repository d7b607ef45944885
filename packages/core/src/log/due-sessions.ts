import type { DueQuery, DueSession } from "../ports/store.ts";

/**
 * When a session is due (has work for a worker), and until when a worker has leased it. A store that knows both for
 * every session can use `dueSessions`.
 */
interface HeadRow extends Omit<DueSession, "dueAt"> {
  readonly dueAt: number | null;
  readonly leasedUntil: number;
}

/** How many due sessions are returned by default. */
export const DUE_LIMIT = 100;

/**
 * Returns the due sessions that no worker has leased. If the query names a session, a lease does not matter. The
 * session that has waited longest comes first.
 */
export function dueSessions(
  rows: Iterable<HeadRow>,
  { before, sessionId, perTenant = Infinity, limit = DUE_LIMIT }: DueQuery,
  now: number,
): readonly DueSession[] {
  const due: DueSession[] = [];
  for (const { leasedUntil, dueAt, ...row } of rows) {
    if (dueAt === null || dueAt > before) continue;
    if (sessionId === undefined ? leasedUntil <= now : row.sessionId === sessionId) due.push({ ...row, dueAt });
  }
  const ofTenant = new Map<string, number>();
  return due
    .sort((a, b) => a.dueAt - b.dueAt)
    .filter(({ tenant }) => {
      const seen = (ofTenant.get(tenant) ?? 0) + 1;
      ofTenant.set(tenant, seen);
      return seen <= perTenant;
    })
    .slice(0, limit);
}
