import type { Page } from "../config.ts";
import type { PaginatedResult } from "./types.ts";

export function paginate<T>(items: readonly T[], page: Page): PaginatedResult<T> {
  return pageOfTotal(items.slice(page.offset, page.offset + page.limit), items.length, page);
}

/** Makes a page from its items and the total number of items. */
export function pageOfTotal<T>(data: readonly T[], total: number, { limit, offset }: Page): PaginatedResult<T> {
  return { data, pagination: { total, limit, offset, hasMore: offset + data.length < total } };
}
