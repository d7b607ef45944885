import type { LibraryConfig } from "../config.ts";

export interface UsageOptions extends LibraryConfig {
  /** The time zone whose days are used; the machine's time zone if not given. */
  readonly timeZone?: string;
  /** The time for which the active block is computed; the current time if not given. */
  readonly now?: Date;
  readonly onProgress?: (done: number, total: number) => void;
}
