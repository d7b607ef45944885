import type { Store } from "@skein/core";
import type { Event } from "@skein/protocol";
import { type TraceParent, parseTraceParent, runSpans } from "./run-spans.ts";

export interface TracingDeps {
  readonly store: Store;
  /** Where spans go, as OTLP over HTTP; without one nothing is traced. */
  readonly endpoint: string | undefined;
  readonly report: (error: unknown) => void;
}

/** Tells an OpenTelemetry collector about runs, once they are over. */
export interface Tracing {
  /** The run was asked for inside this trace. */
  remember(runId: string, traceparent: unknown): void;
  stop(): void;
}

/** Runs whose caller's trace is remembered until they end. */
const REMEMBERED = 10_000;
const TIMEOUT_MS = 5000;

export function createTracing({ store, endpoint, report }: TracingDeps): Tracing {
  if (endpoint === undefined) return { remember: () => {}, stop: () => {} };
  const parents = new Map<string, TraceParent>();

  async function tell(ended: Extract<Event, { event_type: "session.completed" | "session.failed" }>): Promise<void> {
    const { session_id: sessionId } = ended;
    const { run_id: runId } = ended.data;
    const parent = parents.get(runId);
    parents.delete(runId);
    const { items } = await store.runs(sessionId, { limit: 10 });
    const run = items.find(({ id }) => id === runId);
    const [created] = await store.read(sessionId, { limit: 1 });
    if (!run || created?.event_type !== "session.created") return;
    const { agent_id: id, agent_version: version, agent } = created.data;
    const limit = ended.sequence - run.first_sequence + 1;
    const events = await store.read(sessionId, { after: run.first_sequence - 1, limit });
    const spans = runSpans({ runId, events, agent: { id, version, name: agent.name }, parent });
    const resource = { attributes: [{ key: "service.name", value: { stringValue: "skein" } }] };
    const body = { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: "skein" }, spans }] }] };
    await fetch(`${endpoint?.replace(/\/$/, "") ?? ""}/v1/traces`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  }

  const stop = store.onNews((_, events) => {
    for (const event of events ?? [])
      if (event.event_type === "session.completed" || event.event_type === "session.failed")
        void tell(event).catch(report);
  });
  return {
    remember(runId, traceparent) {
      const parent = parseTraceParent(traceparent);
      if (!parent) return;
      if (parents.size >= REMEMBERED) parents.clear();
      parents.set(runId, parent);
    },
    stop,
  };
}
