import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Session } from "../api/api.ts";
import { useActive, useApi } from "../api/context.tsx";

/** Every session that is known by now, and whether there are more to read. */
export interface AllSessions {
  readonly sessions: readonly Session[];
  readonly isLoading: boolean;
  readonly isReading: boolean;
  readonly error: unknown;
}

/** How often the newest sessions are looked at. */
const NEWEST_MS = 5000;

/**
 * Reads the list to its end once, page by page, and keeps it up to date: the newest page and the active sessions are asked
 * again and again, and a session that stops being active is asked for once more. The server cannot search or sort by more
 * than the time of creation yet (NEEDS.md).
 */
export function useAllSessions(): AllSessions {
  const api = useApi();
  const pages = useInfiniteQuery({
    queryKey: ["all-sessions"],
    queryFn: ({ pageParam }) => api.sessions({}, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });
  const newest = useQuery({
    queryKey: ["sessions", "newest"],
    queryFn: async () => (await api.sessions({})).data,
    refetchInterval: NEWEST_MS,
  });
  const active = useActive();
  const ended = useEnded(active.data);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, pages.data]);

  const sessions = useMemo(() => {
    const known = new Map<string, Session>();
    const newer = (session: Session): void => {
      const old = known.get(session.id);
      if (!old || old.updated_at <= session.updated_at) known.set(session.id, session);
    };
    for (const page of pages.data?.pages ?? []) for (const session of page.data) newer(session);
    for (const some of [newest.data, active.data, ended]) for (const session of some ?? []) newer(session);
    return [...known.values()];
  }, [pages.data, newest.data, active.data, ended]);

  return { sessions, isLoading: pages.isLoading, isReading: hasNextPage, error: pages.error };
}

/** Sessions that were active and are no longer, as they are now. */
function useEnded(active: readonly Session[] | undefined): readonly Session[] {
  const api = useApi();
  const before = useRef<ReadonlySet<string>>(new Set());
  const [ended, setEnded] = useState<readonly Session[]>([]);
  useEffect(() => {
    if (!active) return;
    const now = new Set(active.map(({ id }) => id));
    const gone = [...before.current].filter((id) => !now.has(id));
    before.current = now;
    for (const id of gone)
      void api.session(id).then(
        (session) => setEnded((some) => [...some.filter((one) => one.id !== id), session]),
        () => undefined,
      );
  }, [active, api]);
  return ended;
}
