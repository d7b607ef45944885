import type { UsageOptions } from "./usage-options.ts";
import type { UsageReport } from "./usage-report.ts";

/** Tokens and cost of everything, each model call counted once over all files and data directories. */
export async function getUsage(options: UsageOptions = {}): Promise<UsageReport> {
  // The price table comes with a large package: lists and searches start faster without it.
  const { countUsage } = await import("./count-usage.ts");
  return await countUsage(options);
}
