import { withStreamPlace } from "./stream-places.ts";

/** A hidden page closes its streams after this time, so that a glance at another tab does not close them. */
const HIDDEN_MS = 1000;
/** The lock of the only hidden page that keeps its stream. The page needs the stream for notifications. */
const KEEPER = "skein.keeper";

export interface StreamWork {
  /** Follows the stream from its last position. Returns when the signal aborts, or when the stream is over. */
  readonly stream: (signal: AbortSignal) => Promise<void>;
  /** Requests the data that the stream would send. Called repeatedly while other pages use all streams. */
  readonly poll: (signal: AbortSignal) => Promise<unknown>;
  /**
   * Whether this page may keep the stream while it is hidden. Only one hidden page can keep a stream. By default, a
   * hidden page closes its streams.
   */
  readonly isKept?: () => boolean;
}

/**
 * Follows a stream while the page is visible, until the signal aborts or the stream is over. A stream holds one of the
 * six connections that a browser has to a server. So a page closes its streams when it is hidden, and before it goes
 * into the back/forward cache. When the page is shown again, the stream continues from its last position.
 */
export async function streamInTurns(outer: AbortSignal, { stream, poll, isKept }: StreamWork): Promise<void> {
  while (!outer.aborted) {
    const turn = isAway() ? await hiddenTurn(outer, isKept) : visibleTurn(outer);
    try {
      await withStreamPlace(turn.signal, { stream: () => stream(turn.signal), poll: () => poll(turn.signal) });
      if (!turn.signal.aborted) return;
    } finally {
      turn.end();
    }
  }
}

/**
 * Whether the page is in the back/forward cache, or is about to go there. `pagehide` comes before `visibilitychange`.
 */
let isLeft = false;
window.addEventListener("pagehide", () => (isLeft = true), { capture: true });
window.addEventListener("pageshow", () => (isLeft = false), { capture: true });

function isAway(): boolean {
  return document.hidden || isLeft;
}

/** A period in which the page may have a stream open. */
interface Turn {
  /** Aborts when the page has to close the stream. */
  readonly signal: AbortSignal;
  readonly end: () => void;
}

/** Starts a turn that lasts until the page is hidden or left. */
function visibleTurn(outer: AbortSignal): Turn {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const turn = startTurn(outer, () => {
    clearTimeout(timer);
    if (isLeft) turn.end();
    else if (document.hidden) timer = setTimeout(turn.end, HIDDEN_MS);
  });
  return turn;
}

/**
 * Waits until the page is shown. If this page may keep its stream, the wait also ends when the page gets the lock
 * `KEEPER`. In this case the turn lasts until the page is shown.
 */
function hiddenTurn(outer: AbortSignal, isKept: (() => boolean) | undefined): Promise<Turn> {
  return new Promise((resolve) => {
    const turn: Turn = startTurn(outer, () => !isAway() && turn.end());
    turn.signal.addEventListener("abort", () => resolve(turn), { once: true });
    if (turn.signal.aborted) return resolve(turn);
    if (isLeft || isKept?.() !== true || !("locks" in navigator)) return;
    const keep = (): Promise<void> => {
      resolve(turn);
      return new Promise((release) => turn.signal.addEventListener("abort", () => release(), { once: true }));
    };
    // The request for the lock is rejected if the page is shown before the lock is free.
    navigator.locks.request(KEEPER, { signal: turn.signal }, keep).catch(() => undefined);
  });
}

/**
 * Starts a turn that ends at the latest when `outer` aborts. Calls `looked` whenever the user shows, hides or leaves
 * the page.
 */
function startTurn(outer: AbortSignal, looked: () => void): Turn {
  const inner = new AbortController();
  const end = (): void => inner.abort();
  const { signal } = inner;
  document.addEventListener("visibilitychange", looked, { signal });
  window.addEventListener("pagehide", looked, { signal });
  window.addEventListener("pageshow", looked, { signal });
  outer.addEventListener("abort", end, { signal });
  if (outer.aborted) end();
  return { signal, end };
}
