/** Waits for time to pass. Tests and simulations use their own implementation to control time. */
export interface Timers {
  /** Resolves after this many milliseconds, or as soon as the signal aborts. It never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** The longest sleep in milliseconds, almost 25 days. Node treats a longer timeout as 1 ms. */
export const LONGEST_SLEEP = 2 ** 31 - 1;
