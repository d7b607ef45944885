import type { Session } from "@skein/protocol";
import type { Store } from "../ports/store.ts";

/** Selects the sessions of a tenant that are too old to be kept. */
export interface ExpiredQuery {
  readonly tenant: string;
  /** Sessions whose last event is older than this time, as ISO 8601 in UTC. */
  readonly before: string;
  /** Includes running and waiting sessions. By default, such sessions are kept at any age. */
  readonly withBusy?: boolean;
}

const PAGE = 200;

/** Yields the sessions that are too old. The caller may delete a session before it asks for the next session. */
export async function* expiredSessions(
  store: Pick<Store, "list">,
  { tenant, before, withBusy = false }: ExpiredQuery,
): AsyncGenerator<Session> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const query = { tenant, createdBefore: before, limit: PAGE };
    const page = await store.list({ ...query, ...(cursor !== undefined && { cursor }) });
    for (const session of page.items)
      if (session.updated_at < before && (withBusy || session.status === "idle")) yield session;
    cursor = page.cursor;
  }
}
