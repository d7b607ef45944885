/**
 * The most streams that all pages of a browser have open together. A browser opens at most six connections to a server
 * over HTTP/1.1, and other requests need some of them.
 */
const PLACES = 4;
const POLL_MS = 2000;

interface PlaceWork {
  readonly stream: () => Promise<void>;
  readonly poll: () => Promise<unknown>;
}

/**
 * Follows a stream, so that all pages of the browser have at most `PLACES` streams together. Polls while the other
 * pages have `PLACES` streams.
 */
export async function withStreamPlace(signal: AbortSignal, { stream, poll }: PlaceWork): Promise<void> {
  // Browsers offer locks only over https and on localhost.
  if (!("locks" in navigator)) return stream();
  const taken = takePlace(signal);
  const isFree = taken.then(() => true);
  try {
    while (!(await Promise.race([isFree, pause(signal)]))) if (!signal.aborted) await poll();
    if (!signal.aborted) await stream();
  } finally {
    void taken.then(({ giveBack }) => giveBack());
  }
}

interface Place {
  readonly giveBack: () => void;
}

/** Waits until one of the `PLACES` locks is free, and takes it. Closing the page releases the lock. */
function takePlace(signal: AbortSignal): Promise<Place> {
  return new Promise((resolve) => {
    const others = new AbortController();
    const stop = (): void => others.abort();
    signal.addEventListener(
      "abort",
      () => {
        stop();
        resolve({ giveBack: () => {} });
      },
      { once: true },
    );
    let isTaken = signal.aborted;
    const take = (): Promise<void> | undefined => {
      if (isTaken || signal.aborted) return undefined;
      isTaken = true;
      stop();
      return new Promise((giveBack) => resolve({ giveBack }));
    };
    if (isTaken) return resolve({ giveBack: () => {} });
    for (let number = 0; number < PLACES; number++)
      // The page requests all locks. When it gets a lock, its other requests are rejected.
      navigator.locks.request(`skein.stream.${number}`, { signal: others.signal }, take).catch(() => undefined);
  });
}

/** Resolves with false after the pause between two polls, or when the signal aborts. */
function pause(signal: AbortSignal): Promise<false> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(done, POLL_MS);
    signal.addEventListener("abort", done, { once: true });
  });
}
