import type { Event } from "@skein/protocol";
import type { Store } from "../ports/store.ts";
import { listOpenAwaits } from "../sessions/await-list.ts";
import { listChanged } from "../sessions/changed-sessions.ts";
import { countSessions, listSessions, sortKey } from "../sessions/session-list.ts";
import { type SessionTables, placesIn, summaryOfTables } from "./memory-tables.ts";

interface ListedHead {
  readonly log: readonly Event[];
  readonly tables: SessionTables;
}

type Lists = Pick<Store, "list" | "count" | "openAwaits" | "changed" | "summaries" | "search">;

export function createMemoryLists(heads: ReadonlyMap<string, ListedHead>): Lists {
  const sessions = () => [...heads.values()].map(({ tables }) => tables.session);
  return {
    async list(query) {
      return listSessions(
        sessions().sort((a, b) => (sortKey(a) < sortKey(b) ? 1 : -1)),
        query,
      );
    },
    count: async (filter) => countSessions(sessions(), filter),
    async openAwaits(query) {
      const all = [...heads.values()].map(({ tables }) => tables);
      return listOpenAwaits(all, query);
    },
    async changed(query) {
      const all = [...heads.values()].map(({ tables, log }) => ({ session: tables.session, lastSequence: log.length }));
      return listChanged(all, query);
    },
    async summaries(tenant, sessionIds) {
      const found = sessionIds.flatMap((id) => heads.get(id)?.tables ?? []);
      return found.filter(({ session }) => session.tenant === tenant).map(summaryOfTables);
    },
    async search(tenant, sessionIds, text) {
      const found = sessionIds.flatMap((id) => heads.get(id)?.tables ?? []);
      return found.filter(({ session }) => session.tenant === tenant).flatMap((tables) => placesIn(tables, text));
    },
  };
}
