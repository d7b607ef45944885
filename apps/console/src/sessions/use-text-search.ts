import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import type { SessionFilter, SessionMatch } from "../api/api.ts";
import { useApi } from "../api/context.tsx";

/** Shorter words are not searched, because nearly every session contains them. */
const SHORTEST = 2;
/** After this many requests the search stops, and the page offers to continue. */
const PAGES_AT_ONCE = 10;
const ENOUGH = 100;

export interface Said {
  readonly matches: readonly SessionMatch[];
  readonly isSearching: boolean;
  readonly error: unknown;
  /** Sessions that last ran before this time were not searched; null if all were. */
  readonly searchedUntil: string | null;
  readonly goOn: () => void;
}

/**
 * Finds the sessions of Skein whose messages or tool calls contain the words. Each request searches a limited number of
 * sessions, so several requests follow each other.
 */
export function useSaid(words: string, filter: SessionFilter): Said {
  const api = useApi();
  const isAsked = words.length >= SHORTEST;
  const said = useInfiniteQuery({
    queryKey: ["sessions", "search", words, filter],
    queryFn: ({ pageParam, signal }) => api.searchSessions(words, { filter, cursor: pageParam, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    enabled: isAsked,
    retry: false,
    staleTime: 30_000,
  });
  const { data, hasNextPage, isFetching, isError, fetchNextPage } = said;
  const matches = useMemo(() => (isAsked ? (data?.pages.flatMap((page) => page.data) ?? []) : []), [data, isAsked]);
  const pages = data?.pages.length ?? 0;
  const goesOn = isAsked && hasNextPage && !isError && pages % PAGES_AT_ONCE !== 0 && matches.length < ENOUGH;
  useEffect(() => {
    if (goesOn && !isFetching) void fetchNextPage();
  }, [goesOn, isFetching, fetchNextPage]);
  return {
    matches,
    isSearching: isAsked && (isFetching || goesOn),
    error: isAsked ? said.error : null,
    searchedUntil: isAsked && hasNextPage ? (data?.pages.at(-1)?.searched_until ?? null) : null,
    goOn: () => void fetchNextPage(),
  };
}
