/** Something that is not carried over, and how often. `what` is in the plural if `count` is not 1. */
export interface LeftBehind {
  readonly what: string;
  readonly count: number;
}

/** Counts what is not carried over. */
export interface Losses {
  /** Adds `count` (default: 1). `many` is the plural of `one`. */
  add(one: string, many: string, count?: number): void;
  all(): readonly LeftBehind[];
}

export function createLosses(): Losses {
  const counts = new Map<string, { readonly many: string; readonly count: number }>();
  return {
    add(one, many, count = 1) {
      counts.set(one, { many, count: (counts.get(one)?.count ?? 0) + count });
    },
    all: () => [...counts].map(([one, { many, count }]) => ({ what: count === 1 ? one : many, count })),
  };
}
