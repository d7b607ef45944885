import type { Pages } from "./pages.ts";

interface Source<Item> {
  readonly pages: Pages<Item>;
  /** What both lists are in order by. */
  readonly keyOf: (item: Item) => Key;
}

type Key = string | number;

type Merged<One, Other> =
  | { readonly from: "one"; readonly item: One }
  | { readonly from: "other"; readonly item: Other };

interface MergedPages<One, Other> {
  readonly total: number | undefined;
  readonly rowAt: (index: number) => Merged<One, Other> | undefined;
  readonly want: (index: number) => void;
}

/**
 * Two long lists as one, in their order: `isBefore` says whether one key comes before another or with it. A list that is alone is asked for the page that somebody looks at. With both, the place of
 * a row depends on all rows before it, so pages are asked for from the top, as far as somebody scrolls.
 */
export function mergedPages<One, Other>(
  one: Source<One>,
  other: Source<Other>,
  isBefore: (key: Key, than: Key) => boolean,
): MergedPages<One, Other> {
  const [first, second] = [one.pages.total, other.pages.total];
  const total = first === undefined || second === undefined ? (first ?? second) : first + second;
  if ((second ?? 0) === 0) return { total, rowAt: (index) => row("one", one.pages.rowAt(index)), want: one.pages.want };
  if ((first ?? 0) === 0)
    return { total, rowAt: (index) => row("other", other.pages.rowAt(index)), want: other.pages.want };
  const rows: Merged<One, Other>[] = [];
  const next = { one: 0, other: 0 };
  for (;;) {
    const a = one.pages.rowAt(next.one);
    const b = other.pages.rowAt(next.other);
    // Which comes first cannot be said while one of them is not there.
    if ((!a && next.one < (first ?? 0)) || (!b && next.other < (second ?? 0)) || (!a && !b)) break;
    if (a && (!b || isBefore(one.keyOf(a), other.keyOf(b)))) {
      rows.push({ from: "one", item: a });
      next.one += 1;
    } else if (b) {
      rows.push({ from: "other", item: b });
      next.other += 1;
    }
  }
  return {
    total,
    rowAt: (index) => rows[index],
    want(index) {
      if (index < rows.length) return;
      if (next.one < (first ?? 0)) one.pages.want(next.one);
      if (next.other < (second ?? 0)) other.pages.want(next.other);
    },
  };
}

function row<From extends "one" | "other", Item>(from: From, item: Item | undefined) {
  return item === undefined ? undefined : ({ from, item } as { readonly from: From; readonly item: Item });
}
