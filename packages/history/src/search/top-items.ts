/** Keeps the best `count` items of a stream, in limited memory. */
export interface TopItems<T> {
  add(item: T): void;
  /**
   * Returns the worst of the `count` best items, or undefined with fewer items. New items must be better than this
   * item.
   */
  worst(): T | undefined;
  /** Best first. */
  sorted(): readonly T[];
}

/** Creates an empty list. `compare` orders the better item first. If `count` is Infinity, every item is kept. */
export function createTopItems<T>(count: number, compare: (a: T, b: T) => number): TopItems<T> {
  let items: T[] = [];
  let worst: T | undefined;
  const trim = (): void => {
    items = items.sort(compare).slice(0, count);
    worst = items.length === count ? items.at(-1) : undefined;
  };
  return {
    add(item) {
      if (count === 0 || (worst !== undefined && compare(item, worst) >= 0)) return;
      items.push(item);
      // Sorting in batches is cheaper than keeping the items sorted.
      if (items.length >= count * 2 + 100) trim();
    },
    worst() {
      // Up to 20 new items may not be sorted in yet. Until they are, `add` drops fewer items.
      if (items.length >= (worst === undefined ? count : count + 20)) trim();
      return worst;
    },
    sorted() {
      trim();
      return items;
    },
  };
}
