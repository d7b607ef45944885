import { setImmediate as nextTurn } from "node:timers/promises";

/** Lets the event loop run every 15 ms between steps of long work. Throws when the signal is aborted. */
export interface Pause {
  (): Promise<void> | undefined;
}

const turnMs = 15;

export function createPause(signal?: AbortSignal): Pause {
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
