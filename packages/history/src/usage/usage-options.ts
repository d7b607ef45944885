import type { LibraryConfig } from "../config.ts";

export interface UsageOptions extends LibraryConfig {
  /** The zone whose days are used; the machine's own if not given. */
  readonly timeZone?: string;
  readonly onProgress?: (done: number, total: number) => void;
}
