/**
 * How many streams the pages of a browser may have open together. A browser has six connections to a server, and
 * requests need some of them.
 */
const PLACES = 4;
const POLL_MS = 2000;

interface PlaceWork {
  readonly stream: () => Promise<void>;
  readonly poll: () => Promise<unknown>;
}

/** Follows a stream in one of the places that all pages of the browser share. Until a place is free, it polls. */
export async function withStreamPlace(signal: AbortSignal, { stream, poll }: PlaceWork): Promise<void> {
  // Browsers have locks only over https and on this machine.
  if (!("locks" in navigator)) return stream();
  let place: Place | undefined;
  const taken = takePlace(signal).then((given) => (place = given));
  try {
    while (!place && !signal.aborted) {
      await Promise.race([taken, pause(signal)]);
      if (!place && !signal.aborted) await poll();
    }
    if (!signal.aborted) await stream();
  } finally {
    void taken.then(({ giveBack }) => giveBack());
  }
}

interface Place {
  readonly giveBack: () => void;
}

/** Waits for the first free place. A page that is closed gives its places back. */
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
      // The request is rejected when another place was free first.
      navigator.locks.request(`skein.stream.${number}`, { signal: others.signal }, take).catch(() => undefined);
  });
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, POLL_MS);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
