import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useApi } from "../api/context.tsx";
import { SHORTEST_SEARCH } from "../api/search-text.ts";

/** What was said or done that has the searched words, by the id of its session. */
export function useExcerpts(search: string) {
  const api = useApi();
  const said = useQuery({
    queryKey: ["search", search.trim()],
    queryFn: ({ signal }) => api.searchText(search, signal),
    // The address follows what is typed after a pause, so not every key is a question.
    enabled: search.trim().length >= SHORTEST_SEARCH,
    retry: false,
    staleTime: 30_000,
  });
  return useMemo(() => new Map((said.data ?? []).map(({ sessionId, excerpt }) => [sessionId, excerpt])), [said.data]);
}
