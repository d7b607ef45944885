import type { Store, Telemetry, TelemetrySpan } from "@skein/core";
import type { Event } from "@skein/protocol";
import { type TraceParent, type TracedRun, endsSpan, parseTraceParent, spanOf } from "./run-spans.ts";

export interface TracingDeps {
  readonly store: Store;
  /** Receives spans and metrics. Without it, nothing is traced. */
  readonly telemetry?: Telemetry | undefined;
  /** Whether spans contain the content of messages and tool calls. */
  readonly traceContent?: boolean | undefined;
  readonly report: (error: unknown) => void;
}

/** Sends spans to a collector during a run: each model call and each tool call when it ends, then the run. */
export interface Tracing {
  /** Stores the trace in which a run was requested, because another process may execute the run. */
  remember(runId: string, traceparent: unknown): Promise<void>;
  stop(): void;
}

/** The number of runs whose traces and start events this process remembers. */
const REMEMBERED = 10_000;
const PLACE = { tenant: "$trace", kind: "parent" } as const;
const BEGINNINGS = new Set(["session.started", "step.started", "tool.started"]);

export function createTracing({ store, telemetry, traceContent = false, report }: TracingDeps): Tracing {
  if (!telemetry) return { remember: async () => {}, stop: () => {} };
  const told = telemetry;
  /**
   * The trace parents by run. They are kept here, because a model call may end before the trace parent of its run is
   * stored.
   */
  const parents = new Map<string, TraceParent>();
  /** By run in progress: the events that begin the run, its steps and its tool calls. */
  const begun = new Map<string, Event[]>();
  const agents = new Map<string, TracedRun["agent"]>();
  /** Events are handled in their order, so that spans of a run are sent in order. */
  let telling: Promise<void> = Promise.resolve();

  async function parentOf(runId: string): Promise<TraceParent | undefined> {
    const own = parents.get(runId);
    if (own) return own;
    const kept = parseTraceParent((await store.records.get(PLACE.tenant, PLACE.kind, runId))?.value);
    if (kept) remembered(parents, runId, kept);
    return kept;
  }

  /** Returns the start events of a run. If another process began the run, they come from the log. */
  async function beginnings(runId: string, event: Event): Promise<readonly Event[]> {
    const heard = begun.get(runId) ?? [];
    if (heard[0]?.event_type === "session.started") return heard;
    const { items } = await store.runs(event.session_id, { limit: 10 });
    const first = items.find(({ id }) => id === runId)?.first_sequence;
    if (first === undefined) return [];
    const events = await store.read(event.session_id, { after: first - 1, limit: event.sequence - first + 1 });
    const kept = events.filter(({ event_type }) => BEGINNINGS.has(event_type));
    remembered(begun, runId, kept);
    return kept;
  }

  async function agentOf(sessionId: string): Promise<TracedRun["agent"] | undefined> {
    const known = agents.get(sessionId);
    if (known) return known;
    const [created] = await store.read(sessionId, { limit: 1 });
    if (created?.event_type !== "session.created") return undefined;
    const { agent_id: id, agent_version: version, agent } = created.data;
    remembered(agents, sessionId, { id, version, name: agent.name, model: agent.model });
    return agents.get(sessionId);
  }

  async function tell(runId: string, event: Event): Promise<void> {
    const [events, parent, agent] = await Promise.all([
      beginnings(runId, event),
      parentOf(runId),
      agentOf(event.session_id),
    ]);
    const span =
      agent && spanOf(event, { runId, events: [...events, event], agent, parent, withContent: traceContent });
    if (span) told.span(span);
    if (event.event_type === "step.generated" && span) tellCall(event, span);
    if (event.event_type !== "session.completed" && event.event_type !== "session.failed") return;
    const outcome = event.event_type === "session.completed" ? "completed" : event.data.outcome;
    told.value({ name: "skein.runs", kind: "counter", unit: "{run}", value: 1, attributes: { outcome } });
    begun.delete(runId);
    parents.delete(runId);
    agents.delete(event.session_id);
    if (parent) await store.records.delete(PLACE.tenant, PLACE.kind, runId);
  }

  function tellCall({ data }: Extract<Event, { event_type: "step.generated" }>, span: TelemetrySpan): void {
    const attributes = {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": span.attributes["gen_ai.provider.name"] ?? "",
      "gen_ai.response.model": data.model,
    };
    for (const [type, value] of [
      ["input", data.usage.input_tokens],
      ["output", data.usage.output_tokens],
    ] as const)
      told.value({
        name: "gen_ai.client.token.usage",
        kind: "histogram",
        unit: "{token}",
        value,
        attributes: { ...attributes, "gen_ai.token.type": type },
      });
    told.value({
      name: "gen_ai.client.operation.duration",
      kind: "histogram",
      unit: "s",
      value: (span.endMs - span.startMs) / 1000,
      attributes,
    });
  }

  const stop = store.onNews((_, events) => {
    for (const event of events ?? []) {
      const runId = (event.data as { readonly run_id?: unknown } | null)?.run_id;
      if (typeof runId !== "string") continue;
      if (BEGINNINGS.has(event.event_type)) {
        const heard = begun.get(runId);
        if (heard) heard.push(event);
        else if (event.event_type === "session.started") remembered(begun, runId, [event]);
      }
      if (endsSpan(event)) telling = telling.then(() => tell(runId, event)).catch(report);
    }
  });
  return {
    async remember(runId, traceparent) {
      const parent = parseTraceParent(traceparent);
      if (!parent) return;
      remembered(parents, runId, parent);
      try {
        await store.records.put([{ ...PLACE, id: runId, value: traceparent }]);
        // If the run has ended meanwhile, its trace parent is no longer needed.
        if (!parents.has(runId)) await store.records.delete(PLACE.tenant, PLACE.kind, runId);
      } catch (error) {
        // The error is only reported: the message was accepted, and its answer does not depend on a trace.
        report(error);
      }
    },
    stop,
  };
}

function remembered<Value>(map: Map<string, Value>, key: string, value: Value): void {
  if (map.size >= REMEMBERED) map.clear();
  map.set(key, value);
}
