import type { LibraryConfig } from "../config.ts";

export interface UsageOptions extends LibraryConfig {
  /** The time zone that decides where a day begins. Default: the time zone of the machine. */
  readonly timeZone?: string;
  /** The time for which the active block is computed. Default: the current time. */
  readonly now?: Date;
  readonly onProgress?: (done: number, total: number) => void;
}
