/** A browser has six connections to a server, so a hidden page closes its streams after this time. */
const HIDDEN_MS = 20_000;

export interface WhileLookedAt {
  /** Aborts when the page has been hidden for a while, or when the outer signal aborts. */
  readonly signal: AbortSignal;
  /** Resolves when the hidden page is visible again. */
  readonly again: Promise<void>;
}

/** For streams that are only needed while the page is visible. `isKept`: whether a hidden page keeps the stream. */
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
