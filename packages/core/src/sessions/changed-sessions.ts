import type { ChangedQuery, ChangedSession, Page } from "../ports/store.ts";

const DEFAULT_LIMIT = 50;

/** Lists sessions in the order of their last change. Used by stores that hold sessions in memory. */
export function listChanged(all: Iterable<ChangedSession>, query: ChangedQuery): Page<ChangedSession> {
  const { tenant, since = "", sessionIds, agentId, limit = DEFAULT_LIMIT, cursor } = query;
  const named = sessionIds && new Set(sessionIds);
  const found: ChangedSession[] = [];
  for (const change of all) {
    const { session } = change;
    if (session.tenant !== tenant || session.updated_at < since) continue;
    if (named?.has(session.id) === false || (agentId !== undefined && session.agent_id !== agentId)) continue;
    if (cursor === undefined || changeKey(change) > cursor) found.push(change);
  }
  found.sort((a, b) => (changeKey(a) < changeKey(b) ? -1 : 1));
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, cursor: last && found.length > limit ? changeKey(last) : null };
}

function changeKey({ session }: ChangedSession): string {
  return `${session.updated_at} ${session.id}`;
}
