import type { UsageOptions } from "./usage-options.ts";
import type { UsageReport } from "./usage-report.ts";

/** Tokens and cost of all sessions. Each model call counts once over all files and data directories. */
export async function getUsage(options: UsageOptions = {}): Promise<UsageReport> {
  // The price table is in a large package. Lists and searches start faster without loading it.
  const { countUsage } = await import("./count-usage.ts");
  return await countUsage(options);
}
