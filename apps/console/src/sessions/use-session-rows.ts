import { serverNow } from "../api/server-clock.ts";
import type { HistorySession, ListedSession, Session, SessionSort } from "../api/api.ts";
import { useChangedRows } from "../api/changes.ts";
import { useApi, useMe } from "../api/context.tsx";
import { useTitles } from "../api/titles.ts";
import { type ListedRow, rowOfHistory, rowOfMatch, rowOfSession } from "./listed-row.ts";
import { mergedPages } from "./merged-pages.ts";
import { type Asked, agentOf, filterOf, isOnlySkein, sortOf } from "./session-filter.ts";
import { useHistorySearch } from "./use-history-search.ts";
import type { Pages } from "./pages.ts";
import { usePages } from "./use-pages.ts";
import { type Said, useSaid } from "./use-text-search.ts";

/** The rows of the session list: matching titles first, then sessions that contain the words. */
export interface SessionRows {
  readonly total: number | undefined;
  readonly rowAt: (index: number) => ListedRow | undefined;
  readonly want: (index: number) => void;
  /** The text around the searched words, by the key of a row. */
  readonly excerptOf: (key: string) => string;
  /** How many rows match by their title; the others match by their text. */
  readonly titled: number;
  /** Whether this server shows sessions of coding agents. */
  readonly hasHistory: boolean;
  /** Whether the rows can come from several sources. */
  readonly hasSources: boolean;
  readonly isSearching: boolean;
  /** Whether the sessions of coding agents are still being read, so that more rows will come. */
  readonly isReadingHistory: boolean;
  readonly error: unknown;
  /** The progress of the search in the sessions of Skein, and the reason if it stopped. */
  readonly said: Said;
}

interface RowsOptions {
  readonly asked: Asked;
  readonly search: string;
  readonly names: ReadonlyMap<string, string>;
}

export function useSessionRows({ asked, search, names }: RowsOptions): SessionRows {
  const { rows } = useChangedRows();
  const titleOf = useTitles();
  const me = useMe();
  const hasHistory = me.data?.server.history.available ?? false;
  const withHistory = hasHistory && !isOnlySkein(asked);
  const words = search.trim();
  const source = agentOf(asked);
  const isSkeinWanted = source === undefined;
  const skein = useSkeinPages(asked, { title: words, isWanted: isSkeinWanted });
  const sort = sortOf(asked);
  const history = useHistoryPages({ title: words, source, sort }, withHistory);
  const said = useSaid(isSkeinWanted ? words : "", filterOf(asked, ""));
  const found = useHistorySearch(withHistory ? words : "", source);
  const titled = mergedPages<ListedSession, HistorySession>(
    { pages: skein, keyOf: SKEIN_KEYS[sort] },
    { pages: history, keyOf: HISTORY_KEYS[sort] },
    // Titles are sorted ascending, times and costs descending.
    (key, than) => (sort === "title" ? key <= than : key >= than),
  );
  const shown = (session: ListedSession): ListedRow => {
    // The stream of changes does not tell whether a prompt waits.
    const latest = { ...(rows.get(session.id) ?? session), has_queued_prompt: session.has_queued_prompt };
    return rowOfSession(latest, { title: titleOf(latest), agent: names.get(latest.agent_id) ?? "" }, serverNow());
  };
  const count = titled.total ?? 0;
  const excerpts = new Map(said.matches.map(({ session, excerpt }) => [session.id, excerpt]));
  const more: readonly ListedRow[] = [
    ...said.matches
      .filter(({ session }) => session.title?.toLowerCase().includes(words.toLowerCase()) !== true)
      .map((match) => rowOfMatch(match, shown(match.session))),
    // A match inside a subagent has the title of the subagent. The row of the session has another title.
    ...found.rows.filter((row) => row.isSubagent || !row.title.toLowerCase().includes(words.toLowerCase())),
  ];
  return {
    total: titled.total === undefined ? undefined : count + more.length,
    titled: count,
    rowAt(index) {
      if (index >= count) return more[index - count];
      const row = titled.rowAt(index);
      if (!row) return undefined;
      return row.from === "one" ? shown(row.item) : rowOfHistory(row.item);
    },
    want: titled.want,
    excerptOf: (key) => excerpts.get(key) ?? found.excerpts.get(key) ?? "",
    hasHistory,
    hasSources:
      withHistory && (history.isLoading || (history.total ?? 0) > 0 || found.rows.length > 0) && isSkeinWanted,
    isSearching: said.isSearching || found.isSearching,
    isReadingHistory:
      !isOnlySkein(asked) && (me.isLoading || (hasHistory && history.total === undefined && history.error === null)),
    error: skein.error ?? history.error,
    said,
  };
}

function useSkeinPages(asked: Asked, { title, isWanted }: { title: string; isWanted: boolean }): Pages<ListedSession> {
  const api = useApi();
  const filter = filterOf(asked, title);
  const sort = sortOf(asked);
  return usePages<ListedSession>({
    queryKey: ["sessions", "page", filter, sort],
    isWanted,
    most: 60,
    async ask(offset, signal) {
      const { data, total = 0 } = await api.sessions({ ...filter, sort, offset, isCounted: true }, signal);
      return { data, total };
    },
  });
}

/** A sort key that comes after every title. */
const LAST = "\uFFFF";

/** The sort key of each source, for each order. */
const SKEIN_KEYS: Readonly<Record<SessionSort, (session: Session) => string | number>> = {
  last_run: ({ last_run_at, created_at }) => last_run_at ?? created_at,
  created: ({ created_at }) => created_at,
  cost: ({ cost_micros }) => cost_micros,
  title: ({ title }) => title?.toLowerCase() ?? LAST,
};
const HISTORY_KEYS: Readonly<Record<SessionSort, (session: HistorySession) => string | number>> = {
  last_run: ({ last_activity_at }) => last_activity_at,
  created: ({ created_at }) => created_at,
  cost: ({ cost_micros }) => cost_micros ?? 0,
  title: ({ title }) => title?.toLowerCase() ?? LAST,
};

interface HistoryAsked {
  readonly title: string;
  /** The agent whose sessions are wanted; undefined for all. */
  readonly source: string | undefined;
  readonly sort: SessionSort;
}

function useHistoryPages({ title, source, sort }: HistoryAsked, isWanted: boolean): Pages<HistorySession> {
  const api = useApi();
  const query = {
    ...(sort !== "last_run" && { sort }),
    ...(title !== "" && { title }),
    ...(source !== undefined && { source }),
  };
  return usePages<HistorySession>({
    queryKey: ["history", "page", query],
    isWanted,
    ask: (offset, signal) => api.historySessions({ offset, ...query }, signal),
  });
}
