/** Counters of HTTP requests and streams, in Prometheus text format. */
export interface Metrics {
  answered(route: string, method: string, status: number, seconds: number): void;
  cut(): void;
  text(gauges: { readonly streams: number }): string;
}

const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The counters for the responses of one route to one HTTP method. */
interface Series {
  readonly labels: string;
  readonly statuses: Map<number, number>;
  count: number;
  sum: number;
  /** The number of responses per bucket. Each bucket begins at the time limit of the previous bucket. */
  readonly buckets: number[];
}

export function createMetrics(): Metrics {
  const byRoute = new Map<string, Map<string, Series>>();
  let cuts = 0;

  function seriesOf(route: string, method: string): Series {
    const methods = byRoute.get(route) ?? new Map<string, Series>();
    byRoute.set(route, methods);
    const labels = `route="${route}",method="${method}"`;
    const series = { labels, statuses: new Map<number, number>(), count: 0, sum: 0, buckets: BUCKETS.map(() => 0) };
    methods.set(method, series);
    return series;
  }

  return {
    answered(route, method, status, seconds) {
      const series = byRoute.get(route)?.get(method) ?? seriesOf(route, method);
      series.statuses.set(status, (series.statuses.get(status) ?? 0) + 1);
      series.count += 1;
      series.sum += seconds;
      const bucket = BUCKETS.findIndex((limit) => seconds <= limit);
      if (bucket >= 0) series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
    },
    cut: () => void (cuts += 1),
    text({ streams }) {
      const { heapUsed, rss } = process.memoryUsage();
      const all = [...byRoute.values()].flatMap((methods) => [...methods.values()]);
      return [
        "# TYPE skein_http_requests_total counter",
        ...all.flatMap(({ labels, statuses }) =>
          [...statuses].map(([status, count]) => `skein_http_requests_total{${labels},status="${status}"} ${count}`),
        ),
        "# TYPE skein_http_request_duration_seconds histogram",
        ...all.flatMap(histogram),
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

function histogram({ labels, count, sum, buckets }: Series): readonly string[] {
  const name = "skein_http_request_duration_seconds";
  let upTo = 0;
  return [
    ...BUCKETS.map((limit, index) => `${name}_bucket{${labels},le="${limit}"} ${(upTo += buckets[index] ?? 0)}`),
    `${name}_bucket{${labels},le="+Inf"} ${count}`,
    `${name}_sum{${labels}} ${sum}`,
    `${name}_count{${labels}} ${count}`,
  ];
}
