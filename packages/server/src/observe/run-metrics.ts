import { type Store, callIn } from "@skein/core";
import { type Event, dollarsOf, exactCost } from "@skein/protocol";

export interface RunMetricsDeps {
  readonly store: Store;
  /** How many sessions this process runs now. It holds a lease, the right to run the session, for each of them. */
  readonly driven: () => number;
  readonly now: () => number;
}

/**
 * Metrics of runs in Prometheus text format. Counters start with the process, and count only events that this process
 * appended.
 */
export interface RunMetrics {
  text(): Promise<string>;
  stop(): void;
}

/** The totals of all calls of one model. */
interface ModelCalls {
  calls: number;
  picos: bigint;
  readonly tokens: { input: number; output: number; cache_write: number; cache_read: number };
}

/**
 * The number of models with separate counters. Callers can invent model names, so all other models share one counter.
 */
const MODELS = 50;
/** Waiting sessions are counted up to this number. */
const QUEUE = 1000;

export function createRunMetrics({ store, driven, now }: RunMetricsDeps): RunMetrics {
  const runs = { started: 0, resumed: 0, completed: 0, failed: 0, cancelled: 0 };
  const models = new Map<string, ModelCalls>();
  let retries = 0;

  function callsOf(model: string): ModelCalls {
    const name = models.has(model) || models.size < MODELS ? model : "other";
    const known = models.get(name) ?? {
      calls: 0,
      picos: 0n,
      tokens: { input: 0, output: 0, cache_write: 0, cache_read: 0 },
    };
    models.set(name, known);
    return known;
  }

  function count(event: Event): void {
    if (event.event_type === "session.started") runs.started += 1;
    if (event.event_type === "run.resumed") runs.resumed += 1;
    if (event.event_type === "session.completed") runs.completed += 1;
    if (event.event_type === "session.failed") runs[event.data.outcome] += 1;
    if (event.event_type === "step.retried") retries += 1;
    const call = callIn(event);
    if (!call) return;
    const { usage, cost } = call;
    const of = callsOf(call.model);
    of.calls += 1;
    of.tokens.input += usage.input_tokens;
    of.tokens.output += usage.output_tokens;
    of.tokens.cache_write += usage.cache_creation_input_tokens ?? 0;
    of.tokens.cache_read += usage.cache_read_input_tokens ?? 0;
    if (cost) of.picos += exactCost(cost).total;
  }

  const stop = store.onNews((_, events) => {
    // A log that was appended as a whole is a copy. Its runs happened elsewhere, so they are not counted.
    if (events && !isCopied(events)) for (const event of events) count(event);
  });

  return {
    stop,
    async text() {
      const due = await store.due({ before: now(), limit: QUEUE });
      const oldest = due[0] ? Math.max(0, now() - due[0].dueAt) / 1000 : 0;
      const byModel = [...models].map(([model, calls]) => ({ label: `model="${escapedLabel(model)}"`, ...calls }));
      return [
        "# TYPE skein_runs_started_total counter",
        `skein_runs_started_total ${runs.started}`,
        "# TYPE skein_runs_resumed_total counter",
        `skein_runs_resumed_total ${runs.resumed}`,
        "# TYPE skein_runs_ended_total counter",
        ...(["completed", "failed", "cancelled"] as const).map(
          (outcome) => `skein_runs_ended_total{outcome="${outcome}"} ${runs[outcome]}`,
        ),
        "# TYPE skein_model_calls_total counter",
        ...byModel.map(({ label, calls }) => `skein_model_calls_total{${label}} ${calls}`),
        "# TYPE skein_model_retries_total counter",
        `skein_model_retries_total ${retries}`,
        "# TYPE skein_tokens_total counter",
        ...byModel.flatMap(({ label, tokens }) =>
          Object.entries(tokens).map(([kind, count_]) => `skein_tokens_total{${label},kind="${kind}"} ${count_}`),
        ),
        "# TYPE skein_cost_dollars_total counter",
        ...byModel.map(({ label, picos }) => `skein_cost_dollars_total{${label}} ${dollarsOf(picos)}`),
        "# TYPE skein_queue_sessions gauge",
        `skein_queue_sessions ${due.length}`,
        "# TYPE skein_queue_oldest_seconds gauge",
        `skein_queue_oldest_seconds ${oldest}`,
        "# TYPE skein_leases_held gauge",
        `skein_leases_held ${driven()}`,
        "",
      ].join("\n");
    },
  };
}

function isCopied(events: readonly Event[]): boolean {
  const isEnd = ({ event_type }: Event): boolean =>
    event_type === "session.completed" || event_type === "session.failed";
  return events[0]?.sequence === 1 && events.some(isEnd);
}

/** Escapes the value of a label for Prometheus. */
export function escapedLabel(label: string): string {
  return label.replaceAll(/[\\"]/g, "\\$&").replaceAll("\n", "\\n");
}
