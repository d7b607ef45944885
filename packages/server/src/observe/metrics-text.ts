import type { ServerContext } from "../request-context.ts";
import { claudeMetrics } from "./claude-metrics.ts";

export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** All figures of a server. What runs did is about every tenant: it is for those who may know that. */
export async function metricsText(
  shared: ServerContext,
  { withRuns }: { readonly withRuns: boolean },
): Promise<string> {
  const [runs, processes] = await Promise.all([
    withRuns ? shared.runMetrics.text() : "",
    shared.deps.claude?.processes?.(),
  ]);
  return shared.metrics.text({ streams: shared.streams.size }) + runs + claudeMetrics(processes);
}
