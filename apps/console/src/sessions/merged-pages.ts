import type { Pages } from "./pages.ts";

interface Source<Item> {
  readonly pages: Pages<Item>;
  /** Returns the key by which the list is sorted. The keys of both lists can be compared. */
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
 * The second list (sessions of coding agents on one machine) is loaded as a whole, up to this number of rows. Further
 * rows are not shown.
 */
const MOST_OTHERS = 10_000;

/**
 * Merges two long sorted lists. `isBefore` returns whether one key comes before another or equals it.
 *
 * The second list is read as a whole. A row of the first list then has a known position: its number in the first list,
 * plus the number of rows of the second list that come before it. So a jump into the middle loads only a few pages.
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
  const others = loadedFrom(other.pages, Math.min(second ?? 0, MOST_OTHERS));
  const keys = others.map(other.keyOf);
  const isWhole = others.length === Math.min(second ?? 0, MOST_OTHERS);

  /** Returns how many rows of the second list come before a row of the first list with this key. */
  const othersBefore = (key: Key): number => {
    let [low, high] = [0, keys.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBefore(key, keys[middle] as Key)) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  /**
   * Returns the position of a row of the first list. Undefined until its page and enough rows of the second list are
   * loaded.
   */
  const placeOf = (at: number): number | undefined => {
    const item = one.pages.rowAt(at);
    if (item === undefined) return undefined;
    const before = othersBefore(one.keyOf(item));
    return before === others.length && !isWhole ? undefined : at + before;
  };
  /**
   * Returns the last row of the first list that is at `index` or before it. `isSure` is false while pages are missing.
   */
  const nearest = (index: number): { readonly at: number; readonly isSure: boolean } => {
    let [low, high] = [Math.max(0, index - others.length), Math.min(index, (first ?? 0) - 1)];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      let known = middle;
      while (known > low && placeOf(known) === undefined) known -= 1;
      const place = placeOf(known);
      if (place === index) return { at: known, isSure: true };
      if (place !== undefined && place > index) high = known - 1;
      else if (known < middle) return { at: middle, isSure: false };
      else low = middle;
    }
    return { at: low, isSure: placeOf(low) !== undefined };
  };

  function rowAt(index: number): Merged<One, Other> | undefined {
    const { at, isSure } = nearest(index);
    if (!isSure) return undefined;
    const place = placeOf(at) as number;
    if (place === index) return row("one", one.pages.rowAt(at));
    // The row at `index` belongs to the second list. It comes before or after this row of the first list.
    const number = place > index ? index : index - at - 1;
    const next = place > index ? undefined : placeOf(at + 1);
    const isKnown = place > index || next !== undefined || at + 1 >= (first ?? 0);
    return isKnown && number < others.length ? row("other", others[number]) : undefined;
  }

  return {
    total,
    rowAt,
    want(index) {
      if (!isWhole) other.pages.want(others.length);
      const { at, isSure } = nearest(index);
      if (!isSure) one.pages.want(at);
      else if (at + 1 < (first ?? 0) && placeOf(at + 1) === undefined) one.pages.want(at + 1);
    },
  };
}

/** The loaded rows from the top up to the first gap. */
function loadedFrom<Item>(pages: Pages<Item>, most: number): readonly Item[] {
  const rows: Item[] = [];
  for (let item = pages.rowAt(0); item !== undefined && rows.length < most; item = pages.rowAt(rows.length))
    rows.push(item);
  return rows;
}

function row<From extends "one" | "other", Item>(from: From, item: Item | undefined) {
  return item === undefined ? undefined : ({ from, item } as { readonly from: From; readonly item: Item });
}
