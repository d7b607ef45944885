import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Telemetry, type TelemetrySpan, createMemoryStore } from "@skein/core";
import { createScript } from "@skein/core/testing";
import { type Event, createIds } from "@skein/protocol";
import { defineTool } from "skein";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { spanOf } from "../src/observe/run-spans.ts";
import { createTracing } from "../src/observe/tracing.ts";
import { scripted, session, settled, testServer } from "./world.ts";

interface Attribute {
  readonly key: string;
  readonly value: Record<string, unknown>;
}

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code: number };
}

interface Line {
  readonly traceId?: string;
  readonly body: { readonly stringValue: string };
}

interface Told {
  readonly resourceSpans?: { scopeSpans: { spans: Span[] }[] }[];
  readonly resourceMetrics?: { scopeMetrics: { metrics: { name: string }[] }[] }[];
  readonly resourceLogs?: { scopeLogs: { logRecords: Line[] }[] }[];
}

/** Starts a collector on loopback, and keeps what the OpenTelemetry SDK sends. */
async function collector() {
  const spans: Span[] = [];
  const metrics = new Set<string>();
  const lines: Line[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += String(chunk)));
    request.on("end", () => {
      const told = JSON.parse(text) as Told;
      for (const { scopeSpans } of told.resourceSpans ?? []) for (const scope of scopeSpans) spans.push(...scope.spans);
      for (const { scopeMetrics } of told.resourceMetrics ?? [])
        for (const scope of scopeMetrics) for (const { name } of scope.metrics) metrics.add(name);
      for (const { scopeLogs } of told.resourceLogs ?? [])
        for (const scope of scopeLogs) lines.push(...scope.logRecords);
      response.setHeader("content-type", "application/json");
      response.end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, metrics, lines };
}

function valuesOf(span: Span | undefined): Record<string, unknown> {
  return Object.fromEntries(span?.attributes.map(({ key, value }) => [key, Object.values(value)[0]]) ?? []);
}

/** Returns telemetry that collects spans and ignores all other data. */
function listening() {
  const spans: TelemetrySpan[] = [];
  const telemetry: Telemetry = {
    span: (span) => spans.push(span),
    value: () => {},
    line: () => {},
    close: async () => {},
  };
  return { spans, telemetry };
}

const add = defineTool({ name: "add", description: "Adds.", input: z.looseObject({}), run: () => 4 });

test("the spans of a run have GenAI names, belong to the caller's trace and have no content", async () => {
  const { url, spans, metrics, lines } = await collector();
  const { call, logged, close } = await testServer({ traceEndpoint: url, config: { tools: [add] } });
  const { path, id } = await session(call, { tools: ["add"] });
  const text = scripted("A secret plan.", [{ tools: [{ name: "add", id: "call_1" }] }, { text: "Another secret." }]);
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await call("POST", `${path}/messages`, { role: "user", content: { text } }, { traceparent });
  await settled(call, path);
  await expect.poll(() => spans.length).toBe(4);
  // A span is sent when it ends, so the run comes last.
  expect(spans.map(({ name }) => name)).toEqual([
    "chat claude-sonnet-5-5",
    "execute_tool add",
    "chat claude-sonnet-5-5",
    "invoke_agent Helper",
  ]);
  const [run, ...inside] = spans.toReversed();
  expect(run).toMatchObject({
    traceId: "0af7651916cd43dd8448eb211c80319c",
    parentSpanId: "b7ad6b7169203331",
  });
  for (const span of inside) expect([span.traceId, span.parentSpanId]).toEqual([run?.traceId, run?.spanId]);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(4);
  for (const span of spans) expect(valuesOf(span)).toMatchObject({ "session.id": id, "gen_ai.conversation.id": id });
  const values = valuesOf(inside[0]);
  expect(values).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "anthropic",
    "gen_ai.conversation.id": id,
    "gen_ai.usage.output_tokens": expect.anything(),
  });
  expect(JSON.stringify(spans)).not.toMatch(/secret/);
  const trace_id = "0af7651916cd43dd8448eb211c80319c";
  expect(logged).toContainEqual(expect.objectContaining({ trace_id, route: "/v1/sessions/:session_id/messages" }));
  await close();
  expect(lines).toContainEqual(expect.objectContaining({ traceId: trace_id }));
  expect([...metrics]).toEqual(
    expect.arrayContaining(["gen_ai.client.token.usage", "gen_ai.client.operation.duration", "skein.runs"]),
  );
});

test("the span of a model call is sent before its run ends, with content if the operator asks for it", async () => {
  const { url, spans } = await collector();
  const { promise: held, resolve: go } = Promise.withResolvers<number>();
  const wait = defineTool({ name: "wait", description: "Waits.", input: z.looseObject({}), run: () => held });
  const { call } = await testServer({ traceEndpoint: url, traceContent: true, config: { tools: [wait] } });
  const { path } = await session(call, { tools: ["wait"] });
  const steps = [{ text: "Thinking aloud.", tools: [{ name: "wait", id: "call_1" }] }, { text: "Done." }];
  await call("POST", `${path}/messages`, { role: "user", content: { text: scripted("Wait.", steps) } });
  await expect.poll(() => spans.map(({ name }) => name)).toEqual(["chat claude-sonnet-5-5"]);
  expect(valuesOf(spans[0])["gen_ai.output.messages"]).toContain("Thinking aloud.");
  go(4);
  await settled(call, path);
  await expect.poll(() => spans.length).toBe(4);
  expect(valuesOf(spans.find(({ name }) => name === "execute_tool wait"))).toMatchObject({
    "gen_ai.tool.call.arguments": "{}",
    "gen_ai.tool.call.result": expect.stringContaining("4"),
  });
});

test("a failed run is an error span in its own trace", async () => {
  const { url, spans } = await collector();
  const { call } = await testServer({ traceEndpoint: url });
  const { path } = await session(call, { max_retries: 0 });
  await call(
    "POST",
    `${path}/messages`,
    { role: "user", content: { text: scripted("Fail.", [{ error: { status: 400 } }]) } },
    { traceparent: "nonsense" },
  );
  await settled(call, path);
  await expect.poll(() => spans.length).toBe(2);
  expect(spans.map(({ status }) => status.code)).toEqual([2, 2]);
  expect(spans[0]?.traceId).toMatch(/^[0-9a-f]{32}$/);
});

test("a run that another process ends still belongs to the caller's trace", async () => {
  const store = createMemoryStore();
  const { spans, telemetry } = listening();
  const script = createScript({ store, ids: createIds() });
  await script.create();
  const { runId, messageId } = await script.prompt("hi");
  const asked = createTracing({ store, telemetry, report: () => {} });
  await asked.remember(runId, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  asked.stop();

  const other = createTracing({ store, telemetry, report: () => {} });
  const lease = await script.claim();
  const started = { run_id: runId, message_id: messageId, user_message: "hi", formatter: "json" as const };
  const usage = { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const totals = { usage, cost_micros: 0, unpriced_calls: 0, files_generated: 0, duration_ms: 0 };
  const ended = { run_id: runId, step: 0, stop_reason: "end_turn" as const, final_response: "", ...totals };
  await script.append([{ event_type: "session.started", data: started }], { lease });
  await script.append([{ event_type: "session.completed", data: ended }], { lease });
  await expect.poll(() => spans).toHaveLength(1);
  const events = await store.read(script.sessionId);
  for (const [model, provider] of [
    ["claude-x", "anthropic"],
    ["groq/x", "groq"],
    ["bedrock/x", "aws.bedrock"],
  ] as const) {
    const agent = { id: "a", name: "A", version: 1, model };
    const span = spanOf(events.at(-1) as Event, { runId, events, agent, parent: undefined, withContent: false });
    expect(span?.attributes["gen_ai.provider.name"]).toBe(provider);
  }
  expect(spans[0]).toMatchObject({ traceId: "0af7651916cd43dd8448eb211c80319c", parentSpanId: "b7ad6b7169203331" });
  await expect.poll(async () => (await store.records.list({ tenant: "$trace", kind: "parent" })).items).toEqual([]);
  other.stop();
});
