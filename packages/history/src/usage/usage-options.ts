import type { LibraryConfig } from "../config.ts";

export interface UsageOptions extends LibraryConfig {
  /** The time zone whose days are used; the machine's time zone if not given. */
  readonly timeZone?: string;
  readonly onProgress?: (done: number, total: number) => void;
}
