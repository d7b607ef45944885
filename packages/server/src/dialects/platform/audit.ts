import { PLACES, cursorOf, placeOf } from "../../http/cursor.ts";
import type { Handlers } from "../../request-context.ts";

/** The audit log of the caller's tenant. */
export const auditHandlers = {
  async listAudit({ query: { cursor, ...query } }, { shared, principal }) {
    const page = await shared.audit.list(principal.tenant, {
      ...query,
      ...(cursor !== undefined && { cursor: placeOf(cursor, PLACES.record) }),
    });
    return { data: [...page.items], next_cursor: cursorOf(page.cursor) };
  },
} satisfies Partial<Handlers>;
