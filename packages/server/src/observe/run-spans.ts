import { createHash } from "node:crypto";
import type { TelemetryAttributes, TelemetrySpan } from "@skein/core";
import { type Event, type FactData, providerOf } from "@skein/protocol";

/** The trace and the span in which a run was requested. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string | undefined;
}

/** The data from which the spans of a run are made. */
export interface TracedRun {
  readonly runId: string;
  /**
   * Events of the run: at least the events that begin the run, its steps and its tool calls, and the event of the span.
   */
  readonly events: readonly Event[];
  readonly agent: { readonly id: string; readonly name: string; readonly version: number; readonly model: string };
  readonly parent: TraceParent | undefined;
  /** Whether spans contain the content of messages and tool calls. */
  readonly withContent: boolean;
}

/** OpenTelemetry's names of providers that have other names in Skein. */
const PROVIDER_NAMES: ReadonlyMap<string, string> = new Map([
  ["bedrock", "aws.bedrock"],
  ["vertex", "gcp.vertex_ai"],
  ["mistral", "mistral_ai"],
]);

type Values = Readonly<Record<string, string | number | readonly string[] | null | undefined>>;

/** Parses the header `traceparent` of W3C Trace Context. Returns undefined if the header is not valid. */
export function parseTraceParent(header: unknown): TraceParent | undefined {
  const [, traceId, spanId] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(String(header)) ?? [];
  return traceId === undefined || /^0+$/.test(traceId) ? undefined : { traceId, spanId };
}

/** Whether a span ends with this event. */
export function endsSpan({ event_type }: Event): boolean {
  return isEnd(event_type) || ["step.generated", "step.error", "tool.completed"].includes(event_type);
}

/**
 * Returns the span that ends with this event: a model call, a tool call or a run. Names follow OpenTelemetry's GenAI
 * conventions. Ids come from the log, so a span that is sent again keeps its id. The span of a call can name the run's
 * span before the run is over.
 */
export function spanOf(event: Event, run: TracedRun): TelemetrySpan | undefined {
  const mine = run.events.filter(({ data }) => (data as { run_id?: string }).run_id === run.runId);
  const begun = mine.find(({ event_type }) => event_type === "session.started");
  if (begun?.event_type !== "session.started") return undefined;
  const traceId = traceIdOf(run);
  if (isEnd(event.event_type)) return runSpan(begun, event, run);
  const inside = { traceId, parentSpanId: spanIdOf(begun) };
  if (event.event_type === "tool.completed") return toolSpan(event, mine, { ...run, inside });
  return event.event_type === "step.generated" || event.event_type === "step.error"
    ? modelSpan(event, mine, { ...run, inside })
    : undefined;
}

/** Returns the id of a run's trace: the trace of its request, or a new trace with the id of the run. */
function traceIdOf({ parent, runId }: Pick<TracedRun, "parent" | "runId">): string {
  return parent?.traceId ?? runId.replaceAll("-", "");
}

type Inside = TracedRun & { readonly inside: { readonly traceId: string; readonly parentSpanId: string } };
type Of<Type extends Event["event_type"]> = Extract<Event, { event_type: Type }>;

function runSpan(begun: Of<"session.started">, ended: Event, run: TracedRun): TelemetrySpan {
  const { agent, parent, withContent } = run;
  const { usage, final_response } = ended.data as Partial<FactData<"session.completed">>;
  return {
    traceId: traceIdOf(run),
    ...(parent?.spanId !== undefined && { parentSpanId: parent.spanId }),
    ...timed(begun, ended),
    name: `invoke_agent ${agent.name}`,
    kind: "internal",
    attributes: attributesOf(begun, {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.provider.name": providerName(agent.model),
      "gen_ai.agent.id": agent.id,
      "gen_ai.agent.name": agent.name,
      "gen_ai.agent.version": String(agent.version),
      "gen_ai.usage.input_tokens": usage?.input_tokens,
      "gen_ai.usage.output_tokens": usage?.output_tokens,
      ...(withContent && {
        "gen_ai.input.messages": messages("user", begun.data.user_message),
        "gen_ai.output.messages": final_response === undefined ? undefined : messages("assistant", final_response),
      }),
    }),
    ...failed(ended.event_type === "session.failed" ? ended.data.error.message : undefined),
  };
}

function modelSpan(
  event: Of<"step.generated" | "step.error">,
  events: readonly Event[],
  { inside, withContent }: Inside,
): TelemetrySpan | undefined {
  const begun = events.findLast(
    (one) => one.event_type === "step.started" && one.data.step === event.data.step && one.sequence < event.sequence,
  );
  if (begun?.event_type !== "step.started") return undefined;
  const reply = event.event_type === "step.generated" ? event.data : undefined;
  return {
    ...inside,
    ...timed(begun, event),
    name: `chat ${begun.data.model}`,
    kind: "client",
    attributes: attributesOf(event, {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": providerName(begun.data.model),
      "gen_ai.request.model": begun.data.model,
      "gen_ai.request.max_tokens": begun.data.max_tokens,
      "gen_ai.response.model": reply?.model,
      "gen_ai.response.finish_reasons":
        reply?.stop_reason === undefined || reply.stop_reason === null ? undefined : [reply.stop_reason],
      "gen_ai.usage.input_tokens": reply?.usage.input_tokens,
      "gen_ai.usage.output_tokens": reply?.usage.output_tokens,
      "gen_ai.usage.cache_read.input_tokens": reply?.usage.cache_read_input_tokens,
      "gen_ai.usage.cache_creation.input_tokens": reply?.usage.cache_creation_input_tokens,
      ...(withContent && reply && { "gen_ai.output.messages": messages("assistant", reply.content) }),
    }),
    ...failed(event.event_type === "step.error" ? event.data.error.message : undefined),
  };
}

function toolSpan(
  event: Of<"tool.completed">,
  events: readonly Event[],
  { inside, withContent }: Inside,
): TelemetrySpan {
  const { tool_use_id, name, is_error, input, content } = event.data;
  const begun =
    events.find((one) => one.event_type === "tool.started" && one.data.tool_use_id === tool_use_id) ?? event;
  return {
    ...inside,
    ...timed(begun, event),
    name: `execute_tool ${name}`,
    kind: "internal",
    attributes: attributesOf(event, {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": name,
      "gen_ai.tool.call.id": tool_use_id,
      "gen_ai.tool.type": "function",
      ...(withContent && {
        "gen_ai.tool.call.arguments": JSON.stringify(input ?? null),
        "gen_ai.tool.call.result": JSON.stringify(content),
      }),
    }),
    ...failed(is_error ? "The tool answered with an error." : undefined),
  };
}

/** Returns the name that OpenTelemetry uses for the provider of a model. Other providers keep the name from Skein. */
function providerName(model: string): string {
  const provider = providerOf(model) ?? "anthropic";
  return PROVIDER_NAMES.get(provider) ?? provider;
}

function messages(role: string, content: unknown): string {
  return JSON.stringify([{ role, parts: [{ type: "text", content }] }]);
}

function isEnd(type: string): boolean {
  return type === "session.completed" || type === "session.failed";
}

function timed(begun: Event, ended: Event): Pick<TelemetrySpan, "spanId" | "startMs" | "endMs"> {
  return { spanId: spanIdOf(begun), startMs: Date.parse(begun.created_at), endMs: Date.parse(ended.created_at) };
}

function spanIdOf({ id }: Event): string {
  return createHash("sha256").update(id).digest("hex").slice(0, 16);
}

function failed(failure: string | undefined): { readonly error?: string } {
  return failure === undefined ? {} : { error: failure };
}

function attributesOf({ session_id }: Event, values: Values): TelemetryAttributes {
  const all: Values = { "session.id": session_id, "gen_ai.conversation.id": session_id, ...values };
  const found: Record<string, string | number | readonly string[]> = {};
  for (const [key, value] of Object.entries(all)) if (value !== undefined && value !== null) found[key] = value;
  return found;
}
