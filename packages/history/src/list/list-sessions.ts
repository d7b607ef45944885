import { pageOf, type LibraryConfig } from "../config.ts";
import { pageOfTotal } from "../model/paginate.ts";
import type { PaginatedResult, SessionSummary } from "../model/types.ts";
import { discoverUnread } from "../sources/discover.ts";
import { withStore } from "../facets/with-store.ts";
import { orderSessions, summarise } from "./sessions.ts";

/** Sessions with their titles, newest activity first, so that index 0 is the newest. Subagents are not listed. */
export async function listSessions(config: LibraryConfig = {}): Promise<PaginatedResult<SessionSummary>> {
  const page = pageOf(config);
  return await withStore(config, async (store) => {
    const order = await orderSessions(config, store, discoverUnread(config));
    const files = order.files.slice(page.offset, page.offset + page.limit);
    return pageOfTotal(await summarise(files, order, config, store), order.files.length, page);
  });
}
