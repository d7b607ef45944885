import type { QueueFigures } from "@skein/core";

/** What tenants share and who waits for it, in Prometheus text format. */
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
