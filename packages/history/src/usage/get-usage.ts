import type { LibraryConfig } from "../config.ts";
import type { UsageReport } from "./usage-report.ts";

export interface UsageOptions extends LibraryConfig {
  /** The zone whose days are used; the machine's own if not given. */
  readonly timeZone?: string;
  readonly onProgress?: (done: number, total: number) => void;
}

/** Tokens and cost of everything, each model call counted once over all files and data directories. */
export async function getUsage(options: UsageOptions = {}): Promise<UsageReport> {
  // The price table comes with a large package: lists and searches start faster without it.
  const { countUsage } = await import("./count-usage.ts");
  return await countUsage(options);
}
