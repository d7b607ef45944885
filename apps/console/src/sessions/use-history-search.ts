import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { HistoryMatch } from "../api/api.ts";
import { useApi } from "../api/context.tsx";
import { historyHref } from "../api/history-key.ts";
import { shortId } from "../ui/session-state.ts";
import { type ListedRow, shortPath, sourceName } from "./listed-row.ts";

/** Shorter words are not searched, because nearly every session contains them. */
const SHORTEST = 2;

interface FoundRow extends ListedRow {
  /** Whether the match is in the transcript of a subagent. */
  readonly isSubagent: boolean;
}

/** Finds the sessions of coding agents that contain the words. Each session appears once, with its best match. */
export function useHistorySearch(
  search: string,
  source: string | undefined,
): {
  readonly rows: readonly FoundRow[];
  readonly excerpts: ReadonlyMap<string, string>;
  readonly isSearching: boolean;
} {
  const api = useApi();
  const isAsked = search.length >= SHORTEST;
  const found = useQuery({
    queryKey: ["history", "search", search, source],
    queryFn: ({ signal }) => api.searchHistory(search, source, signal),
    enabled: isAsked,
    retry: false,
    staleTime: 30_000,
    placeholderData: (before) => (isAsked ? before : undefined),
  });
  return useMemo(() => {
    const best = new Map<string, HistoryMatch>();
    for (const match of (isAsked && found.data?.data) || []) if (!best.has(keyOf(match))) best.set(keyOf(match), match);
    return {
      rows: [...best.values()].map(rowOfMatch),
      excerpts: new Map([...best].map(([key, { match, context }]) => [key, context.join(" ") || match])),
      isSearching: isAsked && found.isFetching,
    };
  }, [found.data, found.isFetching, isAsked]);
}

function keyOf({ source, session_id }: HistoryMatch): string {
  return `${source} ${session_id}`;
}

function rowOfMatch(match: HistoryMatch): FoundRow {
  const session = { id: match.session_id, source: match.source };
  return {
    key: keyOf(match),
    source: sourceName(match.source),
    href: historyHref(session, {
      ...(match.agent_id !== null && { agent: match.agent_id }),
      at: String(match.offset),
    }),
    title: match.title ?? `Session ${shortId(match.session_id)}`,
    state: null,
    place: shortPath(match.project_path),
    model: "",
    count: null,
    lengthMs: 0,
    cost: "",
    at: match.created_at,
    isFork: false,
    hasUnknownEffect: false,
    tags: [
      ...(match.agent_id === null ? [] : ["subagent"]),
      // The words were found outside the messages, such as in the instructions for the model.
      ...(match.kind === "other" ? ["not in a message"] : []),
    ],
    isSubagent: match.agent_id !== null,
  };
}
