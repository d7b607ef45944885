import { createHash } from "node:crypto";
import type { Event, FactData } from "@skein/protocol";

/** The trace of the request that asked for a run. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string | undefined;
}

/** A span in the JSON of OTLP. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: 1 | 3;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
  readonly status: { readonly code: 0 | 2; readonly message?: string };
}

export interface TracedRun {
  readonly runId: string;
  /** The events of the run, from its beginning to its end. */
  readonly events: readonly Event[];
  readonly agent: { readonly id: string; readonly name: string; readonly version: number };
  readonly parent: TraceParent | undefined;
}

type Values = Readonly<Record<string, string | number | readonly string[] | null | undefined>>;

/** Parses a `traceparent` of W3C Trace Context; undefined if it is invalid. */
export function parseTraceParent(header: unknown): TraceParent | undefined {
  const [, traceId, spanId] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(String(header)) ?? [];
  return traceId === undefined || /^0+$/.test(traceId) ? undefined : { traceId, spanId };
}

/** The spans of a run, with OpenTelemetry's GenAI names: the run, each model call, each tool call. Pure: the same run always gives the same span ids. */
export function runSpans({ runId, events, agent, parent }: TracedRun): readonly Span[] {
  const mine = events.filter(({ data }) => (data as { run_id?: string }).run_id === runId);
  const begun = mine.find(({ event_type }) => event_type === "session.started");
  const ended = mine.find(({ event_type }) => event_type === "session.completed" || event_type === "session.failed");
  if (!begun || !ended) return [];
  const traceId = parent?.traceId ?? runId.replaceAll("-", "");
  const root = spanIdOf(begun);
  const inside = { traceId, parentSpanId: root };
  const totals = (ended.data as FactData<"session.completed">).usage;
  const failure = ended.event_type === "session.failed" ? ended.data.error.message : undefined;
  const run: Span = {
    traceId,
    ...(parent?.spanId !== undefined && { parentSpanId: parent.spanId }),
    ...timed(begun, ended),
    name: `invoke_agent ${agent.name}`,
    kind: 1,
    attributes: attributesOf({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.provider.name": "anthropic",
      "gen_ai.agent.id": agent.id,
      "gen_ai.agent.name": agent.name,
      "gen_ai.agent.version": String(agent.version),
      "gen_ai.conversation.id": begun.session_id,
      "gen_ai.usage.input_tokens": totals.input_tokens,
      "gen_ai.usage.output_tokens": totals.output_tokens,
    }),
    status: statusOf(failure),
  };
  return [run, ...mine.flatMap((event) => callSpan(event, mine, inside))];
}

/** The span of a model call or a tool call that ends with this event. */
function callSpan(
  event: Event,
  events: readonly Event[],
  inside: { traceId: string; parentSpanId: string },
): readonly Span[] {
  if (event.event_type === "step.generated" || event.event_type === "step.error") {
    const begun = events.findLast(
      (one) => one.event_type === "step.started" && one.data.step === event.data.step && one.sequence < event.sequence,
    );
    if (begun?.event_type !== "step.started") return [];
    const reply = event.event_type === "step.generated" ? event.data : undefined;
    const attributes = attributesOf({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "anthropic",
      "gen_ai.conversation.id": event.session_id,
      "gen_ai.request.model": begun.data.model,
      "gen_ai.request.max_tokens": begun.data.max_tokens,
      "gen_ai.response.model": reply?.model,
      "gen_ai.response.finish_reasons":
        reply?.stop_reason === undefined || reply.stop_reason === null ? undefined : [reply.stop_reason],
      "gen_ai.usage.input_tokens": reply?.usage.input_tokens,
      "gen_ai.usage.output_tokens": reply?.usage.output_tokens,
      "gen_ai.usage.cache_read.input_tokens": reply?.usage.cache_read_input_tokens,
      "gen_ai.usage.cache_creation.input_tokens": reply?.usage.cache_creation_input_tokens,
    });
    const status = statusOf(event.event_type === "step.error" ? event.data.error.message : undefined);
    return [{ ...inside, ...timed(begun, event), name: `chat ${begun.data.model}`, kind: 3, attributes, status }];
  }
  if (event.event_type !== "tool.completed") return [];
  const { tool_use_id, name, is_error } = event.data;
  const begun =
    events.find((one) => one.event_type === "tool.started" && one.data.tool_use_id === tool_use_id) ?? event;
  const attributes = attributesOf({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.conversation.id": event.session_id,
    "gen_ai.tool.name": name,
    "gen_ai.tool.call.id": tool_use_id,
    "gen_ai.tool.type": "function",
  });
  const status = statusOf(is_error ? "The tool answered with an error." : undefined);
  return [{ ...inside, ...timed(begun, event), name: `execute_tool ${name}`, kind: 1, attributes, status }];
}

function timed(begun: Event, ended: Event): Pick<Span, "spanId" | "startTimeUnixNano" | "endTimeUnixNano"> {
  return { spanId: spanIdOf(begun), startTimeUnixNano: nanos(begun), endTimeUnixNano: nanos(ended) };
}

function spanIdOf({ id }: Event): string {
  return createHash("sha256").update(id).digest("hex").slice(0, 16);
}

function nanos({ created_at }: Event): string {
  return `${Date.parse(created_at)}000000`;
}

function statusOf(failure: string | undefined): Span["status"] {
  return failure === undefined ? { code: 0 } : { code: 2, message: failure };
}

function attributesOf(values: Values): Span["attributes"] {
  return Object.entries(values).flatMap(([key, value]): Span["attributes"] => {
    if (value === undefined || value === null) return [];
    if (typeof value === "number") return [{ key, value: { intValue: String(value) } }];
    if (typeof value === "string") return [{ key, value: { stringValue: value } }];
    return [{ key, value: { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } } }];
  });
}
