import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Session } from "../api/api.ts";
import { useChangedRows } from "../api/changes.ts";
import { useApi } from "../api/context.tsx";
import { type ListedRow, rowOfSession } from "./listed-row.ts";
import { type Asked, filterOf } from "./session-filter.ts";
import { useExcerpts } from "./use-excerpts.ts";
import { type Pages, usePages } from "./use-pages.ts";

/** The rows of the list of sessions: those whose titles fit, then those in which the words were said. */
export interface SessionRows {
  readonly total: number | undefined;
  readonly rowAt: (index: number) => ListedRow | undefined;
  readonly want: (index: number) => void;
  /** What was said in a session, around the searched words. */
  readonly excerptOf: (id: string) => string;
  /** How many rows fit by their title; the rest by what was said. */
  readonly titled: number;
  /** Whether there are sessions of more than one source. */
  readonly hasSources: boolean;
  readonly isLoading: boolean;
  readonly isSearching: boolean;
  readonly error: unknown;
}

interface RowsOptions {
  readonly asked: Asked;
  readonly search: string;
  readonly names: ReadonlyMap<string, string>;
}

export function useSessionRows({ asked, search, names }: RowsOptions): SessionRows {
  const { rows } = useChangedRows();
  const skein = useSkeinPages(asked, search.trim());
  const said = useSaid(asked, search.trim());
  const titled = skein.total ?? 0;
  const shown = (session: Session): ListedRow => {
    const latest = rows.get(session.id) ?? session;
    return rowOfSession(latest, names.get(latest.agent_id) ?? "", Date.now());
  };
  return {
    total: skein.total === undefined ? undefined : titled + said.sessions.length,
    titled,
    rowAt(index) {
      const session = index < titled ? skein.rowAt(index) : said.sessions[index - titled];
      return session && shown(session);
    },
    want: (index) => index < titled && skein.want(index),
    excerptOf: (id) => said.excerpts.get(id) ?? "",
    hasSources: false,
    isLoading: skein.isLoading,
    isSearching: said.isSearching,
    error: skein.error,
  };
}

function useSkeinPages(asked: Asked, title: string): Pages<Session> {
  const api = useApi();
  const filter = filterOf(asked, title);
  const sort = asked.sort === "begun" ? "created" : "last_run";
  return usePages<Session>({
    queryKey: ["sessions", "page", filter, sort],
    async ask(offset, signal) {
      const { data, total = 0 } = await api.sessions({ ...filter, sort, offset, isCounted: true }, signal);
      return { data, total };
    },
  });
}

/** Sessions in which something was said that has the words, and are not found by their titles. */
function useSaid(asked: Asked, search: string) {
  const api = useApi();
  const { excerpts, isSearching } = useExcerpts(search);
  const ids = [...excerpts.keys()].slice(0, 100);
  const found = useQuery({
    queryKey: ["sessions", "ids", ids.join()],
    queryFn: () => api.sessionsOf(ids),
    enabled: ids.length > 0,
    placeholderData: (before) => before,
  });
  const sessions = useMemo(() => {
    const words = search.toLowerCase();
    const order = new Map(ids.map((id, at) => [id, at]));
    return (ids.length === 0 ? [] : (found.data ?? []))
      .filter((one) => order.has(one.id) && !(one.title ?? "").toLowerCase().includes(words) && fits(one, asked))
      .toSorted((one, other) => (order.get(one.id) ?? 0) - (order.get(other.id) ?? 0));
    // oxlint-disable-next-line exhaustive-deps -- the ids are what the excerpts have.
  }, [found.data, excerpts, search, asked.agent, asked.model, asked.tag]);
  return { sessions, excerpts, isSearching };
}

function fits(session: Session, { agent, model, tag }: Asked): boolean {
  return (
    (agent === null || session.agent_id === agent) &&
    (model === null || session.model === model) &&
    (tag === null || session.tags.includes(tag))
  );
}
