import type { Session } from "@skein/protocol";
import type { Store } from "../ports/store.ts";

/** Which sessions of a tenant are too old to be kept. */
export interface ExpiredQuery {
  readonly tenant: string;
  /** Sessions whose last event is older than this time, as ISO 8601 in UTC. */
  readonly before: string;
  /** Also sessions that run or wait for somebody. Without this option these sessions stay, however old they are. */
  readonly withBusy?: boolean;
}

const PAGE = 200;

/** The sessions that are too old. The caller may delete them while they are listed. */
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
