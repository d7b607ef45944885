import { serverNow } from "../api/server-clock.ts";
import { dayStart } from "../ui/local-days.ts";
import { dayHeading } from "../ui/times.ts";
import type { Item } from "./view.ts";

export interface TranscriptRow {
  readonly key: string;
  readonly kind: Item["kind"] | "group";
  readonly items: readonly Item[];
  /**
   * The day that begins with this row. Null for a row of the same day as the row before, and for a first row of today.
   */
  readonly day: string | null;
}

/** Returns one row per item. The folded steps of a long run share one row. */
export function rowsOf(
  items: readonly Item[],
  folds: ReadonlyMap<string, number> | undefined,
  opened: ReadonlySet<string>,
): readonly TranscriptRow[] {
  const rows: TranscriptRow[] = [];
  const dayOf = createDays();
  let group: Item[] | undefined;
  for (const item of items) {
    const until = item.kind === "step" ? folds?.get(item.runId) : undefined;
    const key = item.kind === "step" ? `fold-${item.runId}` : "";
    if (item.kind === "step" && until !== undefined && item.number <= until && !opened.has(key)) {
      if (group) group.push(item);
      else rows.push({ key, kind: "group", items: (group = [item]), day: dayOf(item) });
      continue;
    }
    if (item.kind !== "mark" || item.tone === "failed") group = undefined;
    rows.push({ key: item.key, kind: item.kind, items: [item], day: dayOf(item) });
  }
  return rows;
}

/** Names the day of an item if the item before was of another day. A transcript that begins today needs no day. */
function createDays(): (item: Item) => string | null {
  // A transcript has thousands of items: comparing numbers is faster than formatting days.
  const bounds = (at: number): readonly [begin: number, end: number] => [Number(dayStart(at)), Number(dayStart(at, 1))];
  let [begin, end] = bounds(serverNow());
  return ({ at }) => {
    if (at >= begin && at < end) return null;
    [begin, end] = bounds(at);
    return dayHeading(at);
  };
}
