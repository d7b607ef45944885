import {
  type ChangedSession,
  type SessionAwaits,
  type SessionSummary,
  type Store,
  type TextPlace,
  canWait,
  countSessions,
  listChanged,
  listOpenAwaits,
  listSessions,
  placesIn,
  summaryOfTables,
} from "@skein/core";
import type { Head, Heads } from "./heads.ts";

type Lists = Pick<Store, "list" | "count" | "openAwaits" | "changed" | "summaries" | "search">;

/**
 * Creates the functions that list sessions. They use the heads in memory. The functions for awaits, summaries and
 * search also read the logs.
 */
export function createTenantLists({
  heads,
  checkOpen,
}: {
  readonly heads: Heads;
  readonly checkOpen: () => void;
}): Lists {
  /** Returns undefined if the session is missing or damaged. */
  function readable(sessionId: string): Head | undefined {
    const head = heads.find(sessionId);
    return head?.damage ? undefined : head;
  }

  function* changes(): Generator<ChangedSession> {
    for (const { session, last, damage } of heads.all()) if (session && !damage) yield { session, lastSequence: last };
  }

  return {
    async list(query) {
      checkOpen();
      return listSessions(heads.newest(), query);
    },
    async count(filter) {
      checkOpen();
      return countSessions(heads.newest(), filter);
    },
    async openAwaits(query) {
      checkOpen();
      const waiting: SessionAwaits[] = [];
      for (const session of [...heads.newest()].filter((one) => canWait(one, query))) {
        const head = readable(session.id);
        const awaits = head ? (await heads.log(head)).tables.awaits : [];
        if (awaits.length > 0) waiting.push({ session, awaits });
      }
      return listOpenAwaits(waiting, query);
    },
    async changed(query) {
      checkOpen();
      return listChanged(changes(), query);
    },
    async summaries(tenant, sessionIds) {
      checkOpen();
      const summaries: SessionSummary[] = [];
      for (const id of sessionIds) {
        const head = readable(id);
        if (head?.session?.tenant === tenant) summaries.push(summaryOfTables((await heads.log(head)).tables));
      }
      return summaries;
    },
    async search(tenant, sessionIds, text) {
      checkOpen();
      const places: TextPlace[] = [];
      for (const id of sessionIds) {
        const head = readable(id);
        if (head?.session?.tenant === tenant) places.push(...placesIn((await heads.log(head)).tables, text));
      }
      return places;
    },
  };
}
