import type { UsageOptions } from "./usage-options.ts";
import type { UsageReport } from "./usage-report.ts";

/** Returns the tokens and the cost of all sessions. Each model call counts once over all files and data directories. */
export async function getUsage(options: UsageOptions = {}): Promise<UsageReport> {
  // The price table is large. It is loaded here, so that lists and searches start faster.
  const { countUsage } = await import("./count-usage.ts");
  return await countUsage(options);
}
