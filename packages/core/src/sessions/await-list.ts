import type { Await, Session } from "@skein/protocol";
import type { OpenAwaitsQuery, Page } from "../ports/store.ts";

const DEFAULT_LIMIT = 50;

/** All awaits of a session, in the order in which they were opened. */
export interface SessionAwaits {
  readonly session: Session;
  readonly awaits: readonly Await[];
}

/** Lists open awaits, oldest first. Used by stores that hold sessions in memory. */
export function listOpenAwaits(all: Iterable<SessionAwaits>, query: OpenAwaitsQuery): Page<Await> {
  const { kinds, limit = DEFAULT_LIMIT, cursor } = query;
  const found: { readonly key: string; readonly open: Await }[] = [];
  for (const { session, awaits } of all) {
    if (!canWait(session, query)) continue;
    for (const [place, open] of awaits.entries()) {
      if (open.closed_at !== null || (kinds && !kinds.includes(open.kind))) continue;
      const key = `${open.opened_at} ${session.id} ${String(place).padStart(9, "0")}`;
      if (cursor === undefined || key > cursor) found.push({ key, open });
    }
  }
  found.sort((a, b) => (a.key < b.key ? -1 : 1));
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return { items: shown.map(({ open }) => open), cursor: last && found.length > limit ? last.key : null };
}

/**
 * Returns whether the query includes awaits of this session. An idle session waits for nothing, even if its last run
 * left awaits open.
 */
export function canWait({ tenant, status, agent_id }: Session, query: OpenAwaitsQuery): boolean {
  return tenant === query.tenant && status !== "idle" && (query.agentId === undefined || agent_id === query.agentId);
}
