import type { QueueFigures, RunLine } from "@skein/core";
import { escapedLabel } from "./run-metrics.ts";

/** Returns metrics of shared resources and of waiting requests, in Prometheus text format. */
export function queueMetrics(queues: Readonly<Record<string, QueueFigures | undefined>>): string {
  const known = Object.entries(queues).flatMap(([name, figures]) => (figures ? [[name, figures] as const] : []));
  const gauge = (name: string, of: (figures: QueueFigures) => number): readonly string[] => [
    `# TYPE ${name} gauge`,
    ...known.map(([queue, figures]) => `${name}{queue="${queue}"} ${of(figures)}`),
  ];
  return [
    ...gauge("skein_places", ({ places }) => places),
    ...gauge("skein_places_taken", ({ taken }) => taken),
    ...gauge("skein_places_waiting", ({ waiting }) => waiting),
    ...gauge("skein_places_waiting_tenants", ({ tenants }) => tenants),
    "",
  ].join("\n");
}

/**
 * Returns metrics of the caps on runs: limits, runs in progress and waiting runs. Returns an empty text without caps.
 */
export function capMetrics(lines: Readonly<Record<string, RunLine>> | undefined): string {
  if (!lines) return "";
  const gauge = (name: string, of: (line: RunLine) => number): readonly string[] => [
    `# TYPE ${name} gauge`,
    ...Object.entries(lines).map(([cap, line]) => `${name}{cap="${escapedLabel(cap)}"} ${of(line)}`),
  ];
  return [
    ...gauge("skein_cap_runs", ({ most }) => most),
    ...gauge("skein_cap_runs_under_way", ({ running }) => running.length),
    ...gauge("skein_cap_runs_waiting", ({ waiting }) => waiting.length),
    "",
  ].join("\n");
}
