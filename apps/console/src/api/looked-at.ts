/** A browser has six connections to a server: a page that nobody looks at gives its own back after this long. */
const HIDDEN_MS = 20_000;

export interface WhileLookedAt {
  /** Aborts when the page was hidden for a while, or when the outer signal aborts. */
  readonly signal: AbortSignal;
  /** Settles when the page is looked at again after that. */
  readonly again: Promise<void>;
}

/** For what is only worth a connection while somebody looks. `isKept` says whether a hidden page keeps it all the same. */
export function whileLookedAt(outer: AbortSignal, isKept: () => boolean = () => false): WhileLookedAt {
  const inner = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const again = new Promise<void>((resolve) => {
    const looked = (): void => {
      clearTimeout(timer);
      if (document.hidden && !outer.aborted) timer = setTimeout(() => (isKept() ? looked() : inner.abort()), HIDDEN_MS);
      else if (inner.signal.aborted || outer.aborted) {
        document.removeEventListener("visibilitychange", looked);
        inner.abort();
        resolve();
      }
    };
    document.addEventListener("visibilitychange", looked);
    outer.addEventListener("abort", looked, { once: true });
    looked();
  });
  return { signal: inner.signal, again };
}
