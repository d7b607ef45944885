import { pageOf, type LibraryConfig } from "../config.ts";
import { pageOfTotal } from "../model/paginate.ts";
import type { PaginatedResult, SessionSummary } from "../model/types.ts";
import type { DataFile } from "../model/data-file.ts";
import { discoverUnread } from "../sources/discover.ts";
import { withStore } from "../facets/with-store.ts";
import { orderSessions, summarise } from "./sessions.ts";

const mostCorrections = 20;

const isUnread = ({ origin }: DataFile): boolean => origin?.hasLines === false;

/** Lists sessions with their titles. Index 0 has the newest activity. Subagents are not listed. */
export async function listSessions(config: LibraryConfig = {}): Promise<PaginatedResult<SessionSummary>> {
  const page = pageOf(config);
  return await withStore(config, async (store) => {
    const order = await orderSessions(config, store, discoverUnread(config));
    const chosen = (): readonly DataFile[] => order.files.slice(page.offset, page.offset + page.limit);
    // Before the lines of a session are translated, only an approximate time is known. `correct` then sorts the list
    // again.
    let files = chosen();
    let summaries = await summarise(files, order, config, store);
    for (let more = mostCorrections; more > 0 && files.some(isUnread) && order.correct(); more -= 1) {
      files = chosen();
      summaries = await summarise(files, order, config, store);
    }
    return pageOfTotal(summaries, order.files.length, page);
  });
}
