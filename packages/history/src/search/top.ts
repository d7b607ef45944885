/** The best so many of a stream of items, in bounded memory. */
export interface Top<T> {
  add(item: T): void;
  /** The last of the best, once there are enough of them: what is not better than this is not among them. */
  worst(): T | undefined;
  /** Best first. */
  sorted(): readonly T[];
}

/** `compare` orders the better item first. Without a bound every item is kept. */
export function createTop<T>(count: number, compare: (a: T, b: T) => number): Top<T> {
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
      // Sorting now and then costs less than keeping order all the time.
      if (items.length >= count * 2 + 100) trim();
    },
    worst() {
      // A few items late is good enough: then it is only less strict.
      if (items.length >= (worst === undefined ? count : count + 20)) trim();
      return worst;
    },
    sorted() {
      trim();
      return items;
    },
  };
}
