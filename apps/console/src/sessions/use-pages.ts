import { useQueries } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import type { Pages } from "./pages.ts";

/** Rows of one page. */
const PAGE = 200;

interface PageAnswer<Item> {
  readonly data: readonly Item[];
  readonly total: number;
}

interface PagesOptions<Item> {
  /** Identifies the list. A list with other filters has another key. */
  readonly queryKey: readonly unknown[];
  readonly ask: (offset: number, signal: AbortSignal) => Promise<PageAnswer<Item>>;
  readonly isWanted?: boolean;
  /** How many pages are kept in memory. */
  readonly most?: number;
}

export function usePages<Item>({ queryKey, ask, isWanted = true, most = Infinity }: PagesOptions<Item>): Pages<Item> {
  const key = JSON.stringify(queryKey);
  const [wanted, setWanted] = useState<{ readonly key: string; readonly pages: readonly number[] }>({
    key,
    pages: [0],
  });
  const numbers = wanted.key === key ? wanted.pages : [0];
  const answers = useQueries({
    queries: (isWanted ? numbers : []).map((page) => ({
      queryKey: [...queryKey, page],
      queryFn: ({ signal }: { signal: AbortSignal }) => ask(page * PAGE, signal),
      staleTime: 10_000,
    })),
  });
  const [first] = answers;
  const asked = new Map(numbers.map((page, at) => [page, answers[at]?.data]));
  // The rows of the previous list stay until the new ones arrive, so that the page is not empty while typing.
  const shown = useRef<ReadonlyMap<number, PageAnswer<Item> | undefined>>(asked);
  if (first?.data || first?.isError) shown.current = asked;
  const pages = shown.current;
  const want = useCallback(
    (index: number): void => {
      const page = Math.floor(index / PAGE);
      setWanted((was) => {
        const known = was.key === key ? was.pages : [0];
        if (known.includes(page)) return was.key === key ? was : { key, pages: known };
        const kept = known.length < most ? known : [0, ...known.slice(2)];
        return { key, pages: [...kept, page] };
      });
    },
    [key, most],
  );
  return {
    total: isWanted ? pages.get(0)?.total : 0,
    rowAt: (index) => pages.get(Math.floor(index / PAGE))?.data[index % PAGE],
    want,
    isLoading: isWanted && (first?.isLoading ?? false),
    error: first?.error ?? null,
    version: answers.reduce((sum, { dataUpdatedAt }) => sum + dataUpdatedAt, answers.length),
  };
}
