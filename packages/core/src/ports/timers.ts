/** Time as an argument. */
export interface Timers {
  /** Resolves after so many milliseconds, or as soon as the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** Almost 25 days: timers of this platform take a longer time for none at all. */
export const LONGEST_SLEEP = 2 ** 31 - 1;
