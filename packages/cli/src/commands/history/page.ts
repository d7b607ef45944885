import type { LibraryConfig, PaginatedResult } from "@skein/history";

/** Returns one page of the whole list. */
export function pageOf<T>(items: readonly T[], { limit = 50, offset = 0 }: LibraryConfig): PaginatedResult<T> {
  const data = items.slice(offset, offset + limit);
  return { data, pagination: { total: items.length, limit, offset, hasMore: offset + data.length < items.length } };
}
