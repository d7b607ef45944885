/** Counters of a server, in the text form that Prometheus reads. */
export interface Metrics {
  answered(route: string, method: string, status: number, seconds: number): void;
  cut(): void;
  text(gauges: { readonly streams: number }): string;
}

const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Series {
  count: number;
  sum: number;
  readonly buckets: number[];
}

export function createMetrics(): Metrics {
  const requests = new Map<string, number>();
  const durations = new Map<string, Series>();
  let cuts = 0;

  return {
    answered(route, method, status, seconds) {
      const labels = `route="${route}",method="${method}"`;
      const key = `${labels},status="${status}"`;
      requests.set(key, (requests.get(key) ?? 0) + 1);
      const series = durations.get(labels) ?? { count: 0, sum: 0, buckets: BUCKETS.map(() => 0) };
      durations.set(labels, series);
      series.count += 1;
      series.sum += seconds;
      for (const [index, limit] of BUCKETS.entries())
        if (seconds <= limit) series.buckets[index] = (series.buckets[index] ?? 0) + 1;
    },
    cut: () => void (cuts += 1),
    text({ streams }) {
      const { heapUsed, rss } = process.memoryUsage();
      return [
        "# TYPE skein_http_requests_total counter",
        ...[...requests].map(([labels, count]) => `skein_http_requests_total{${labels}} ${count}`),
        "# TYPE skein_http_request_duration_seconds histogram",
        ...[...durations].flatMap(([labels, series]) => histogram(labels, series)),
        "# TYPE skein_streams_open gauge",
        `skein_streams_open ${streams}`,
        "# TYPE skein_streams_cut_total counter",
        `skein_streams_cut_total ${cuts}`,
        "# TYPE process_resident_memory_bytes gauge",
        `process_resident_memory_bytes ${rss}`,
        "# TYPE nodejs_heap_size_used_bytes gauge",
        `nodejs_heap_size_used_bytes ${heapUsed}`,
        "",
      ].join("\n");
    },
  };
}

function histogram(labels: string, { count, sum, buckets }: Series): readonly string[] {
  const name = "skein_http_request_duration_seconds";
  return [
    ...BUCKETS.map((limit, index) => `${name}_bucket{${labels},le="${limit}"} ${buckets[index] ?? 0}`),
    `${name}_bucket{${labels},le="+Inf"} ${count}`,
    `${name}_sum{${labels}} ${sum}`,
    `${name}_count{${labels}} ${count}`,
  ];
}
