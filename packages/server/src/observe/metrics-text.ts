import type { ServerContext } from "../request-context.ts";
import { claudeMetrics } from "./claude-metrics.ts";
import { capMetrics, queueMetrics } from "./queue-metrics.ts";

export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** All metrics of a server. Metrics of runs cover all tenants, so only the operator's tenant gets them. */
export async function metricsText(
  shared: ServerContext,
  { withRuns }: { readonly withRuns: boolean },
): Promise<string> {
  const [runs, caps, processes] = await Promise.all([
    withRuns ? shared.runMetrics.text() : "",
    withRuns ? shared.deps.runLines?.() : undefined,
    shared.deps.claude?.processes?.(),
  ]);
  const { statements, bodies, streams, notices } = shared.places.queues;
  const queues = queueMetrics({
    driving: shared.deps.drivingQueue?.(),
    large_sessions: shared.deps.largeSessions?.figures(),
    claude: processes?.queue,
    statements: statements.figures(),
    bodies: bodies.figures(),
    streams: streams.figures(),
    notices: notices.figures(),
  });
  return (
    shared.metrics.text({ streams: shared.streams.size }) + runs + claudeMetrics(processes) + queues + capMetrics(caps)
  );
}
