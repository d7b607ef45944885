import { setImmediate as nextTurn } from "node:timers/promises";

/** Lets the event loop run now and then during long work, so that a server stays responsive, and stops on abort. */
export interface Breathe {
  (): Promise<void> | undefined;
}

const turnMs = 15;

export function createBreathe(signal?: AbortSignal): Breathe {
  let since = performance.now();
  const rest = async (): Promise<void> => {
    await nextTurn();
    since = performance.now();
  };
  return () => {
    signal?.throwIfAborted();
    if (performance.now() - since < turnMs) return undefined;
    return rest();
  };
}
