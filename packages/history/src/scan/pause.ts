import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * Is called between the steps of long work. Lets the event loop run if 15 ms have passed since it last ran. Throws if
 * the signal is aborted.
 */
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
