import type { DueQuery, DueSession } from "../ports/store.ts";

/** When a session is due, and until when it is leased. For stores that have this of every session in memory. */
interface HeadRow extends Omit<DueSession, "dueAt"> {
  readonly dueAt: number | null;
  readonly leasedUntil: number;
}

/** How many waiting sessions are returned by default. */
export const DUE_LIMIT = 100;

/** The sessions among these that wait to be driven, the one that has waited longest first. */
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
