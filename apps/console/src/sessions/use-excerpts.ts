import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useApi } from "../api/context.tsx";
import { SHORTEST_SEARCH } from "../api/search-text.ts";

/** What was said or done that has the searched words, by the id of its session. */
export function useExcerpts(search: string): {
  readonly excerpts: ReadonlyMap<string, string>;
  readonly isSearching: boolean;
} {
  const api = useApi();
  const isAsked = search.trim().length >= SHORTEST_SEARCH;
  const said = useQuery({
    queryKey: ["search", search.trim()],
    queryFn: ({ signal }) => api.searchText(search, signal),
    enabled: isAsked,
    retry: false,
    staleTime: 30_000,
  });
  const excerpts = useMemo(
    () => new Map((said.data ?? []).map(({ sessionId, excerpt }) => [sessionId, excerpt])),
    [said.data],
  );
  return { excerpts, isSearching: isAsked && said.isFetching };
}
