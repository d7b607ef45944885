import type { Store } from "@skein/core";
import type { Event } from "@skein/protocol";
import { type TraceParent, parseTraceParent, runSpans } from "./run-spans.ts";

export interface TracingDeps {
  readonly store: Store;
  /** Where spans are sent (OTLP over HTTP). Without it, nothing is traced. */
  readonly endpoint: string | undefined;
  readonly report: (error: unknown) => void;
}

/** Sends runs to an OpenTelemetry collector once they are over. */
export interface Tracing {
  /** Stores the trace that a run was asked for in. It is in the store, because another process may end the run. */
  remember(runId: string, traceparent: unknown): Promise<void>;
  stop(): void;
}

/** How many runs' traces this process keeps in memory. */
const REMEMBERED = 10_000;
const PLACE = { tenant: "$trace", kind: "parent" } as const;
const TIMEOUT_MS = 5000;

export function createTracing({ store, endpoint, report }: TracingDeps): Tracing {
  if (endpoint === undefined) return { remember: async () => {}, stop: () => {} };
  /** The traces of this process's requests. A run may be over before its trace is stored. */
  const parents = new Map<string, TraceParent>();

  /** Takes the trace that a run was asked for in: the run is over, so it is needed once. */
  async function parentOf(runId: string): Promise<TraceParent | undefined> {
    const own = parents.get(runId);
    parents.delete(runId);
    const kept = await store.records.get(PLACE.tenant, PLACE.kind, runId);
    if (kept) await store.records.delete(PLACE.tenant, PLACE.kind, runId);
    return own ?? parseTraceParent(kept?.value);
  }

  async function tell(ended: Extract<Event, { event_type: "session.completed" | "session.failed" }>): Promise<void> {
    const { session_id: sessionId } = ended;
    const { run_id: runId } = ended.data;
    const parent = await parentOf(runId);
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
    async remember(runId, traceparent) {
      const parent = parseTraceParent(traceparent);
      if (!parent) return;
      if (parents.size >= REMEMBERED) parents.clear();
      parents.set(runId, parent);
      try {
        await store.records.put([{ ...PLACE, id: runId, value: traceparent }]);
        if (!parents.has(runId)) await store.records.delete(PLACE.tenant, PLACE.kind, runId);
      } catch (error) {
        // The message was accepted: an error here must not fail its request.
        report(error);
      }
    },
    stop,
  };
}
